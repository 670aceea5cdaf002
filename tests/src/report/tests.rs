use super::*;

const TEXT: &str = "\
profil-bpf: process 4242 (split-pie), 5.0 s at 997 Hz

 self%   cum%   user s  system s  ticks  function              object
 60.00  60.00    2.800     0.200   3000  spin_alpha            split-pie
 39.90  99.90    1.995     0.000   1995  map<int, b>::get()    /usr/lib/libhot.so
  0.10 100.00    0.000     0.005      5  0x7f00 (no name)      [anon: my heap]

balance: runs 5003 = binned 4996 + strays 4 + lost: strays table full 3; ticks seen 5003 / due 5005 (1.000); kernel memory 17.1 MiB
";

#[test]
fn a_report_is_read() {
    let report = Report::of(TEXT);
    assert_eq!(report.rows.len(), 3);
    assert_eq!(report.rows[1].function, "map<int, b>::get()");
    assert!(report.rows[1].is_in("libhot.so"));
    assert_eq!(report.rows[2].object, "[anon: my heap]");
    assert_eq!(report.share_of("spin_alpha"), 0.6);
    assert_eq!(report.ticks_in("split-pie"), 3000);
    assert_eq!(report.outcome("lost: strays table full"), 3);
    assert_eq!(report.balance.memory, "17.1 MiB");
    report.assert_conserved().assert_all_ticks_seen();
}

#[test]
fn tasks_are_told_apart() {
    let (head, rest) = TEXT.split_once(" self%").unwrap();
    let (table, end) = rest.split_once("\n\n").unwrap();
    let text = format!(
        "{head}pid 1 (a): 5000 ticks, 50.00 %\n self%{table}\n\npid 2 (b): 5 ticks\n \
         self%{table}\n\n{end}"
    );
    let report = Report::of(&text);
    assert_eq!(report.rows.len(), 6);
    assert_eq!(report.task("pid 2 ").len(), 3);
    assert_eq!(report.task("pid 1 (a)")[0].ticks, 3000);
}

#[test]
fn an_empty_profile_is_read() {
    let text = "function  object\n\nbalance: runs 0 = binned 0 + strays 0; ticks seen 0 / \
                due 0 (-); kernel memory 1 MiB\n";
    let report = Report::of(text);
    assert_eq!(report.ticks(), 0);
    assert!(report.balance.ratio.is_nan());
    report.assert_conserved();
}

#[test]
fn what_is_not_a_report_is_refused() {
    for (from, to) in [
        ("balance: ", "balanced: "),
        ("3000  spin_alpha", "many  spin_alpha"),
        (" = binned", " binned"),
        ("seen 5003", "seen all"),
    ] {
        assert!(
            Report::parse(&TEXT.replace(from, to)).is_err(),
            "{from} -> {to}"
        );
    }
    assert!(Report::parse(&TEXT.repeat(2)).is_err());
}

#[test]
#[should_panic(expected = "runs and outcomes")]
fn a_lost_run_is_noticed() {
    Report::of(&TEXT.replace("binned 4996", "binned 4995")).assert_conserved();
}

#[test]
#[should_panic(expected = "rows and kept ticks")]
fn a_lost_row_is_noticed() {
    Report::of(&TEXT.replace("3000  spin", "2999  spin")).assert_conserved();
}

#[test]
#[should_panic(expected = "ticks seen / due")]
fn lost_ticks_are_noticed() {
    Report::of(&TEXT.replace("due 5005", "due 5055")).assert_all_ticks_seen();
}

#[test]
fn errors_and_what_filters_leave_out_are_read() {
    let text = TEXT
        .replace(" 60.00  60.00", " 60.00  ± 0.69  60.00")
        .replace(" 39.90  99.90", " 39.90  ± 0.69  99.90")
        .replace(
            "  0.10 100.00    0.000     0.005      5  0x7f00 (no name)      [anon: my heap]\n",
            "",
        )
        .replace(
            "\nbalance",
            "\nfiltered out: 5 ticks, 0.10 ± 0.04 %\nbalance",
        );
    let report = Report::of(&text);
    assert_eq!(report.rows[1].error, Some(0.69));
    assert_eq!(report.rows[1].cumulative_percent, 99.9);
    assert_eq!(report.filtered_out, 5);
    report.assert_conserved();
}
