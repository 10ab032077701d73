//! Sessions in another database: copied there, and kept on a server.

mod on_postgres;
mod two_gateways;

use crate::support::*;

/// Promise: `a-copy-is-the-same`
#[test]
fn a_copy_goes_on_where_the_first_stood() {
    let home = Home::scripted(&[r#"{"content":"Good day."}"#]);
    home.ok(&["chat", "-m", "hello"]);
    let (from, to) = (home.path("data/recto.db"), home.path("copies/recto.db"));
    let [from, to] = [&from, &to].map(|path| path.to_str().unwrap());
    let copied = json(&home.ok(&["store", "copy", "--from", from, "--to", to, "--json"]));
    let rows = |name: &str| {
        let tables = copied["tables"].as_array().unwrap();
        tables.iter().find(|table| table["name"] == name).unwrap()["rows"].as_u64()
    };
    assert_eq!((rows("sessions"), rows("messages"), rows("requests")), (Some(1), Some(2), Some(1)));
    home.run(&["store", "copy", "--from", from, "--to", to]).fails_with("is not empty");
    home.run(&["store", "copy", "--from", "/no/such.db", "--to", to])
        .fails_with("there is no database at /no/such.db");

    let config = std::fs::read_to_string(home.path("config.toml")).unwrap();
    home.write("config.toml", format!("{config}\n[store]\npath = '{to}'\n"));
    std::fs::remove_file(from).unwrap();
    let sessions = json(&home.ok(&["sessions", "show", "default", "--json"]));
    assert_eq!(sessions["messages"].as_array().map(Vec::len), Some(2), "{sessions}");
    home.ok(&["replay", "--verify"]);
}

#[test]
fn a_password_never_stands_in_the_config() {
    let home = Home::scripted(&[]);
    let config = std::fs::read_to_string(home.path("config.toml")).unwrap();
    let with = |url: &str| {
        home.write("config.toml", format!("{config}\n[store]\nurl = '{url}'\n"));
        home.run(&["config", "check"])
    };
    let run = with("postgres://ada:zebra-4711@127.0.0.1:1/recto");
    run.fails_with("must not hold a password");
    assert!(!(run.out + &run.err).contains("zebra-4711"));
    let run = with("postgres://127.0.0.1:1/recto?sslmode=perhaps");
    run.fails_with("verify-full");
    // What can't be reached is told where it is looked at.
    with("postgres://ada@127.0.0.1:1/recto");
    let doctor = home.run(&["doctor"]);
    let told = doctor.out + &doctor.err;
    assert!(told.contains("postgres://ada@127.0.0.1:1/recto"), "{told}");
}
