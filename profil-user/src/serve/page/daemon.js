// The daemon whose page this is.

import { $ } from "./element.js";
import { fetchJson } from "./query.js";
import { shown, whole } from "./text.js";

export let daemon = {};

// Says whether there was an answer.
export async function loadDaemon() {
  try {
    daemon = await fetchJson("/api/daemon");
    $("host").textContent = shown(daemon.host);
    document.title = `${shown(daemon.host)} – profil-bpf`;
    const lost = daemon.damaged + daemon.unwritten;
    $("facts").textContent = `${daemon.hz} Hz, ${daemon.cpus} CPUs, ${whole(daemon.minutes)} min kept` + (lost ? `, ${whole(lost)} damaged or unwritten` : "");
    return true;
  } catch {
    // The rows say what is wrong.
    return false;
  }
}
