// CPU time, as rows and minutes have it.

export const cpuOf = (cost) => cost.user_ns + cost.system_ns;

// What a time is of all that matched, from 0 to 1.
export const partOf = (ns, matched) => (matched && cpuOf(matched) ? ns / cpuOf(matched) : 0);
