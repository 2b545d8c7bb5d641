use rusqlite::Connection;

/// A database with threads, and without events.
fn database(release: Option<&str>) -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(
        "CREATE TABLE ftrace_event (id INTEGER PRIMARY KEY, ts, cpu, tid, utid, name, args);
         CREATE TABLE thread (utid, name, upid);
         CREATE TABLE process (upid, pid);
         CREATE TABLE metadata (name, value);
         INSERT INTO thread VALUES (0, 'swapper', NULL), (1, 'surface-flinger', 1), (2, NULL, NULL),
           (3, 'a name of more than 16', 2);
         INSERT INTO process VALUES (1, 412), (2, 1234567);",
    )
    .unwrap();
    if let Some(release) = release {
        let insert = "INSERT INTO metadata VALUES ('system_release', ?1)";
        conn.execute(insert, [release]).unwrap();
    }
    super::register(&conn).unwrap();
    conn
}

fn line(conn: &Connection, id: i64) -> Option<String> {
    conn.query_row("SELECT to_ftrace(?1)", [id], |row| row.get(0)).unwrap()
}

/// The text of the line after the time.
fn told_of(conn: &Connection, name: &str, args: &str) -> String {
    conn.execute("REPLACE INTO ftrace_event VALUES (1, 0, 0, 0, 0, ?1, ?2)", [name, args]).unwrap();
    let line = line(conn, 1).unwrap();
    let told = line.strip_prefix("          <idle>-0     (-----) [000] .... 0.000000: ");
    told.unwrap_or_else(|| panic!("{line}")).to_owned()
}

#[test]
fn sf9_a_line_begins_with_thread_process_cpu_and_time() {
    let conn = database(None);
    let cases = [
        (
            "5000206130999, 1, 415, 1",
            " surface_flinger-415   (  412) [001] .... 5000.206130: cpu_idle: state=1",
        ),
        ("7, 12, 0, 0", "          <idle>-0     (-----) [012] .... 0.000000: cpu_idle: state=1"),
        (
            "1000000000, 1000, 99, 2",
            "       <unknown>-99    (-----) [1000] .... 1.000000: cpu_idle: state=1",
        ),
        // The thread is not in the tables.
        (
            "1999999999, NULL, 123456, NULL",
            "       <unknown>-123456 (-----) [000] .... 1.999999: cpu_idle: state=1",
        ),
        (
            "-1500000, 0, 3, 3",
            "a name of more than 16-3     (1234567) [000] .... -0.001500: cpu_idle: state=1",
        ),
        (
            "-9223372036854775808, -1, 3, 2",
            "       <unknown>-3     (-----) [-01] .... -9223372036.854775: cpu_idle: state=1",
        ),
    ];
    for (id, (event, expected)) in (0..).zip(cases) {
        let insert =
            format!("INSERT INTO ftrace_event VALUES (?1, {event}, 'cpu_idle', '{{\"state\":1}}')");
        conn.execute(&insert, [id]).unwrap();
        assert_eq!(line(&conn, id).unwrap(), expected);
    }
}

#[test]
fn sf9_what_is_no_event_has_no_line() {
    let conn = database(None);
    conn.execute_batch(
        "INSERT INTO ftrace_event VALUES (0, NULL, 0, 1, 1, 'print', '{\"buf\":\"x\"}'), (1, 5, 0, 1, 1, NULL, NULL)",
    )
    .unwrap();
    for id in [0, 1, 2, -1, i64::MAX] {
        assert_eq!(line(&conn, id), None, "{id}");
    }
    for (wrong, told) in [("NULL", "NULL"), ("'1'", "the text '1'"), ("1.0", "the real number 1")] {
        let sql = format!("SELECT to_ftrace({wrong})");
        let error = conn.query_row(&sql, [], |_| Ok(())).unwrap_err();
        let expected = format!("to_ftrace(): argument 1 (id) must be an integer, not {told}");
        assert!(error.to_string().contains(&expected), "{error}");
    }
}

#[test]
fn sf9_other_events_have_all_arguments_in_their_order() {
    let conn = database(Some("5.10.43-android12"));
    let cases = [
        (
            "sched_waking",
            r#"{"comm":"a b","pid":7,"prio":120,"success":1,"target_cpu":3}"#,
            "sched_waking: comm=a b pid=7 prio=120 success=1 target_cpu=3",
        ),
        ("cpu_frequency", r#"{"state":300000,"cpu_id":4}"#, "cpu_frequency: state=300000 cpu_id=4"),
        ("cpu_idle", r#"{"state":4294967295,"cpu_id":0}"#, "cpu_idle: state=4294967295 cpu_id=0"),
        (
            "kfree",
            r#"{"call_site":18446744073709551600,"ptr":-1}"#,
            "kfree: call_site=18446744073709551600 ptr=-1",
        ),
        (
            "kmalloc",
            r#"{"bytes_req":16,"gfp_flags":21004480,"ptr":0}"#,
            "kmalloc: bytes_req=16 gfp_flags=GFP_KERNEL|__GFP_ZERO ptr=0",
        ),
        // Of a repeated argument the last, of a message nothing.
        (
            "mine",
            r#"{"list":[1,2],"inner":{"a":[1]},"on":true,"off":false,"half":0.5,"two":2.0,"none":[]}"#,
            "mine: list=2 on=1 off=0 half=0.5 two=2",
        ),
        ("mine", "{}", "mine:"),
        ("mine", r#"{"quoted":"say \"x\"\n"}"#, "mine: quoted=say \"x\"\n"),
        ("corrupt", r#"{"data":"CP8="}"#, "corrupt: data=CP8="),
    ];
    for (name, args, expected) in cases {
        assert_eq!(told_of(&conn, name, args), expected);
    }
}

#[test]
fn sf9_events_of_threads_have_their_own_form() {
    let switch = r#"{"prev_comm":"app-1","prev_pid":7,"prev_prio":120,"prev_state":STATE,"next_comm":"swapper/0","next_pid":0,"next_prio":120}"#;
    let old = database(None);
    let new = database(Some("5.10.43-android12"));
    for (conn, state, shown) in [
        (&old, "0", "R"),
        (&old, "2048", "R+"),
        (&new, "256", "R+"),
        (&new, "2", "D"),
        (&new, "130", "D|I"),
        (&new, "2048", "?"),
    ] {
        let expected = format!(
            "sched_switch: prev_comm=app-1 prev_pid=7 prev_prio=120 prev_state={shown} ==> next_comm=swapper/0 next_pid=0 next_prio=120"
        );
        let args = switch.replace("STATE", state);
        assert_eq!(told_of(conn, "sched_switch", &args), expected, "{state}");
    }
    let cases = [
        (
            "sched_wakeup",
            r#"{"comm":"a","pid":7,"prio":120,"success":1,"target_cpu":3}"#,
            "sched_wakeup: comm=a pid=7 prio=120 target_cpu=003",
        ),
        (
            "sched_blocked_reason",
            r#"{"pid":105,"caller":18446743524104058140,"io_wait":1}"#,
            "sched_blocked_reason: pid=105 iowait=1 caller=ffffff8008f5b51c",
        ),
        (
            "sched_blocked_reason",
            r#"{"pid":105,"caller":"filemap_fault","io_wait":0}"#,
            "sched_blocked_reason: pid=105 iowait=0 caller=filemap_fault",
        ),
        (
            "cgroup_attach_task",
            r#"{"dst_root":1,"dst_id":2,"pid":3,"comm":"foo","cname":"bar"}"#,
            "cgroup_attach_task: dst_root=1 dst_id=2 cgroup=bar pid=3 comm=foo",
        ),
        (
            "cgroup_attach_task",
            r#"{"dst_root":1,"dst_id":2,"pid":3,"comm":"foo","dst_level":4,"dst_path":"/bar"}"#,
            "cgroup_attach_task: dst_root=1 dst_id=2 dst_level=4 dst_path=/bar pid=3 comm=foo",
        ),
        // An event whose fields are missing has its words.
        ("sched_switch", r#"{"next_pid":1}"#, "sched_switch: ==> next_pid=1"),
    ];
    for (name, args, expected) in cases {
        assert_eq!(told_of(&old, name, args), expected);
    }
}

#[test]
fn sf9_marks_have_their_own_form() {
    let conn = database(None);
    let cases = [
        ("print", r#"{"ip":17,"buf":"B|412|draw\n"}"#, "tracing_mark_write: B|412|draw"),
        ("print", r#"{"buf":"C|937|kill|0"}"#, "tracing_mark_write: C|937|kill|0"),
        ("print", r#"{"buf":"two\n\n"}"#, "tracing_mark_write: two\n"),
        ("print", r#"{"buf":""}"#, "tracing_mark_write: "),
        (
            "tracing_mark_write",
            r#"{"pid":412,"trace_name":"draw","trace_begin":1}"#,
            "tracing_mark_write:B|412|draw",
        ),
        (
            "tracing_mark_write",
            r#"{"pid":412,"trace_name":"","trace_begin":0}"#,
            "tracing_mark_write:E|412|",
        ),
        (
            "dpu_tracing_mark_write",
            r#"{"pid":412,"trace_name":"","trace_begin":0,"name":"DSI","type":67,"value":5}"#,
            "tracing_mark_write:C|412|DSI|5",
        ),
        (
            "g2d_tracing_mark_write",
            r#"{"pid":9,"name":"job","type":66,"value":0}"#,
            "tracing_mark_write:B|9|job|0",
        ),
        (
            "panel_write_generic",
            r#"{"pid":9,"name":"job","type":69,"value":0}"#,
            "panel_write_generic:E|9|job|0",
        ),
        (
            "samsung_tracing_mark_write",
            r#"{"pid":9,"trace_name":"job","trace_begin":1,"trace_type":83,"value":1}"#,
            "samsung_tracing_mark_write:S|9|job|1",
        ),
    ];
    for (name, args, expected) in cases {
        assert_eq!(told_of(&conn, name, args), expected);
    }
}

#[test]
fn sf9_events_of_devices_have_their_own_form() {
    let conn = database(None);
    let cases = [
        (
            "clock_set_rate",
            r#"{"name":"gpu","state":5,"cpu_id":2}"#,
            "clock_set_rate: gpu state=5 cpu_id=2",
        ),
        ("clk_set_rate", r#"{"name":"gpu","rate":5}"#, "clk_set_rate: gpu 5"),
        (
            "clock_enable",
            r#"{"name":"gpu","state":1,"cpu_id":2}"#,
            "clock_enable:gpu state=1 cpu_id=2",
        ),
        (
            "clock_disable",
            r#"{"name":"gpu","state":0,"cpu_id":2}"#,
            "clock_disable:gpu state=0 cpu_id=2",
        ),
        (
            "binder_transaction",
            r#"{"debug_id":-1,"target_node":0,"to_proc":412,"to_thread":0,"reply":0,"code":26,"flags":16}"#,
            "binder_transaction: transaction=4294967295 dest_node=0 dest_proc=412 dest_thread=0 reply=0 flags=0x10 code=0x1a",
        ),
        (
            "binder_transaction_alloc_buf",
            r#"{"data_size":100,"debug_id":7,"offsets_size":0}"#,
            "binder_transaction_alloc_buf: transaction=7 data_size=100 offsets_size=0",
        ),
        (
            "binder_transaction_received",
            r#"{"debug_id":7}"#,
            "binder_transaction_received: transaction=7",
        ),
        ("binder_lock", r#"{"tag":"x"}"#, "binder_lock: tag=x"),
        (
            "mm_filemap_add_to_page_cache",
            r#"{"pfn":5,"i_ino":43981,"index":3,"s_dev":8388639,"page":1}"#,
            "mm_filemap_add_to_page_cache: dev 8:31 ino abcd page=0000000000000000 pfn=5 ofs=12288",
        ),
        (
            "workqueue_activate_work",
            r#"{"work":4096}"#,
            "workqueue_activate_work: work struct 1000",
        ),
        (
            "workqueue_execute_start",
            r#"{"work":4096,"function":"flush"}"#,
            "workqueue_execute_start: work struct 1000: function flush",
        ),
        (
            "workqueue_execute_end",
            r#"{"work":18446744073709551615}"#,
            "workqueue_execute_end: work struct ffffffffffffffff",
        ),
        (
            "workqueue_queue_work",
            r#"{"work":16,"function":32,"workqueue":48,"req_cpu":4,"cpu":0}"#,
            "workqueue_queue_work: work struct=10 function=20 workqueue=3040",
        ),
        (
            "irq_handler_entry",
            r#"{"irq":31,"name":"dsi","handler":5}"#,
            "irq_handler_entry: irq=31 name=dsi",
        ),
        ("irq_handler_exit", r#"{"irq":31,"ret":1}"#, "irq_handler_exit: irq=31 ret=handled"),
        ("irq_handler_exit", r#"{"irq":31,"ret":0}"#, "irq_handler_exit: irq=31 ret=unhandled"),
        ("softirq_entry", r#"{"vec":9}"#, "softirq_entry: vec=9 [action=RCU]"),
        ("softirq_exit", r#"{"vec":10}"#, "softirq_exit: vec=10 [action=10]"),
        (
            "hrtimer_expire_entry",
            r#"{"hrtimer":5,"now":6,"function":255}"#,
            "hrtimer_expire_entry: function=ff",
        ),
        (
            "i2c_read",
            r#"{"adapter_nr":2,"msg_nr":1,"addr":64,"flags":1,"len":8}"#,
            "i2c_read: i2c-2 #1 a=040 f=0001 l=8",
        ),
        (
            "i2c_write",
            r#"{"adapter_nr":2,"msg_nr":0,"addr":64,"flags":0,"len":2,"buf":"AP8="}"#,
            "i2c_write: i2c-2 #0 a=040 f=0000 l=2 [00-ff]",
        ),
        (
            "i2c_reply",
            r#"{"adapter_nr":2,"msg_nr":0,"addr":64,"flags":0,"len":0,"buf":""}"#,
            "i2c_reply: i2c-2 #0 a=040 f=0000 l=0 []",
        ),
        ("i2c_result", r#"{"adapter_nr":2,"nr_msgs":1,"ret":-5}"#, "i2c_result: i2c-2 n=1 ret=-5"),
    ];
    for (name, args, expected) in cases {
        assert_eq!(told_of(&conn, name, args), expected);
    }
}
