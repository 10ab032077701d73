//! Without a grant there is no network, not even on this machine.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

use super::*;
use crate::real_clients::ServeProcess;

/// Code that makes a socket and does something with it, and says how it went.
fn socket(make: &str, then: &str) -> String {
    format!("use Socket; socket(S, {make}) && {then} or die \"tried: $!\"; print 'it went well';")
}

fn to_port(port: u16) -> String {
    format!("pack_sockaddr_in({port}, inet_aton('127.0.0.1'))")
}

/// Code that knocks at a TCP port.
fn knock(port: u16) -> String {
    socket("AF_INET, SOCK_STREAM, 0", &format!("connect(S, {})", to_port(port)))
}

/// Code that sends a question for the address of a host, as a resolver does.
fn ask(port: u16) -> String {
    let question = r#""\x12\x34\1\0\0\1\0\0\0\0\0\0" . "\5recto\7invalid\0" . "\0\1\0\1""#;
    let send = format!("send(S, {question}, 0, {})", to_port(port));
    socket("AF_INET, SOCK_DGRAM, 0", &send)
}

#[track_caller]
fn is_stopped(code: &str) {
    Attempt::perl(code).prints("it went well").told(NOT_PERMITTED).is_stopped();
}

#[test]
fn no_connection_is_made() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    is_stopped(&knock(listener.local_addr().unwrap().port()));
}

#[test]
fn no_datagram_and_no_question_for_a_name_is_sent() {
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    receiver.set_nonblocking(true).unwrap();
    is_stopped(&ask(receiver.local_addr().unwrap().port()));
    let mut question = [0; 512];
    assert!(receiver.recv(&mut question).is_ok(), "no real attempt");
    assert!(receiver.recv(&mut question).is_err(), "it came a second time, from the tool");
}

#[test]
fn nobody_listens() {
    is_stopped(&socket(
        "AF_INET, SOCK_STREAM, 0",
        &format!("bind(S, {}) && listen(S, 1)", to_port(0)),
    ));
}

#[test]
fn no_program_on_this_machine_is_talked_to() {
    // As a container's daemon or an agent for keys is reached.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    let connect = format!("connect(S, pack_sockaddr_un('{}'))", path.display());
    is_stopped(&socket("AF_UNIX, SOCK_STREAM, 0", &connect));
    // By a name without a file.
    let name = format!("recto-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    let connect = format!("connect(S, pack_sockaddr_un(\"\\0{name}\"))");
    is_stopped(&socket("AF_UNIX, SOCK_STREAM, 0", &connect));
}

#[test]
fn a_pair_of_sockets_leads_to_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let receiver = UnixDatagram::bind(&path).unwrap();
    receiver.set_nonblocking(true).unwrap();
    let code = format!(
        "use Socket; socketpair(S, T, AF_UNIX, SOCK_DGRAM, 0) && \
         send(S, 'hello', 0, pack_sockaddr_un('{}')) or die \"tried: $!\"; print 'it went well';",
        path.display()
    );
    is_stopped(&code);
}

#[test]
fn no_ring_is_set_up_that_would_go_past_the_guard() {
    // The number is the same everywhere.
    let code = "$parameters = \"\\0\" x 120; $r = syscall(425, 1, $parameters); \
                print $r == -1 ? \"no: $!\" : 'it went well';";
    let attempt = Attempt::perl(code);
    let output = attempt.control(&attempt.place()).output().unwrap();
    if both(&output.stdout, b"").starts_with("no: ") {
        return; // Some systems have closed this door for all.
    }
    is_stopped(code);
}

#[test]
fn the_network_has_to_be_asked_for_and_granted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let code = knock(listener.local_addr().unwrap().port());
    let grant = "items.skill.harm.network = true\n";
    let asks = || Attempt::perl(&code).declaring("network", json!(true));
    let alone = asks().prints("it went well").told(NOT_PERMITTED);
    alone.is_stopped();
    let alone = Attempt::perl(&code).config(grant).prints("it went well").told(NOT_PERMITTED);
    alone.is_stopped();
    let both_of_them = asks().config(grant);
    let text = both_of_them.run(&both_of_them.place());
    assert!(text.contains("it went well"), "{text}");
    // That does not lead to other programs on this machine.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    let connect = format!("connect(S, pack_sockaddr_un('{}'))", path.display());
    let local = Attempt::perl(&socket("AF_UNIX, SOCK_STREAM, 0", &connect)).config(grant);
    let local = local.declaring("network", json!(true)).prints("it went well");
    local.told(NOT_PERMITTED).is_stopped();
    // Files are confined all the same.
    let read = Attempt::of(&["cat", "OUTSIDE/secret"]).declaring("network", json!(true));
    read.config(grant).prints(SECRET).told(NO_ACCESS).is_stopped();
}

/// Code that asks a gateway what only its owner is told, and prints what it says.
fn ask_gateway(served: &ServeProcess) -> String {
    let port = served.url.trim_end_matches('/').rsplit(':').next().unwrap();
    let host = format!("Host: 127.0.0.1:{port}");
    let request =
        format!("GET /api/sessions HTTP/1.1\\r\\n{host}\\r\\nConnection: close\\r\\n\\r\\n");
    format!(
        "use Socket; socket(S, AF_INET, SOCK_STREAM, 0) && connect(S, {}) or die \"tried: $!\"; \
         syswrite(S, \"{request}\"); print while <S>;",
        to_port(port.parse().unwrap())
    )
}

/// Promise: `programs-are-not-their-owner`
#[test]
fn a_program_with_the_network_is_not_the_owner_at_the_gateway() {
    let gateway = Home::scripted(&[]);
    let served = ServeProcess::start(&gateway);
    let code = ask_gateway(&served);
    let attempt = Attempt::perl(&code)
        .declaring("network", json!(true))
        .config("items.skill.harm.network = true\n")
        .prints("200 OK")
        .told("401 Unauthorized");
    attempt.is_stopped();
    // Nor where the Recto that runs it has another name, or has lost its file.
    let place = attempt.place();
    let other = place.path("OUTSIDE/another-name");
    let tool = attempt.tool(&place);
    fs::hard_link(tool.get_program(), &other)
        .or_else(|_| fs::copy(tool.get_program(), &other).map(drop))
        .unwrap();
    let mut renamed = Command::new(&other);
    renamed.args(tool.get_args()).current_dir(place.path("WORKSPACE")).stdin(Stdio::null());
    renamed.envs(tool.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let run = renamed.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    fs::remove_file(&other).unwrap();
    let output = run.wait_with_output().unwrap();
    let text = both(&output.stdout, &output.stderr);
    assert!(text.contains("401 Unauthorized") && !text.contains("200 OK"), "{text}");
}

/// Promise: `programs-are-not-their-owner`
#[test]
fn the_program_of_a_server_is_not_the_owner_at_the_gateway() {
    let gateway = Home::scripted(&[]);
    let served = ServeProcess::start(&gateway);
    let code = format!("open(STDOUT, '>&', STDERR); {}", ask_gateway(&served));
    let attempt = Attempt::perl(&code);
    let output = attempt.control(&attempt.place()).output().unwrap();
    let text = both(&output.stdout, &output.stderr);
    assert!(text.contains("200 OK"), "no real attempt: {text}");
    for sandbox in ["", "sandbox = true\nnetwork = true\n"] {
        note_attempt();
        let config = format!(
            "[mcp.x]\ncommand = 'perl'\nargs = ['-e', '''{code}''']\nstart_limit = 5\n{sandbox}"
        );
        let place = Attempt::of(&["true"]).config(&config).place();
        place.home.run(&["mcp", "check", "x"]);
        let log = place.read("RECTO/logs/mcp-x.log");
        assert!(log.contains("401 Unauthorized") && !log.contains("200 OK"), "{sandbox}: {log}");
    }
}
