//! Real servers. `RECTO_TEST_MCP` is a folder that has them: `node_modules/`
//! with `@modelcontextprotocol/server-everything` and `server-filesystem`, and
//! `venv/` with `mcp-server-time` and `mcp-server-git`.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::fake::kill;
use super::*;

fn folder() -> PathBuf {
    let folder = std::env::var_os("RECTO_TEST_MCP");
    folder.expect("RECTO_TEST_MCP names the folder with the MCP servers for tests").into()
}

/// The script of a server that npm installed.
fn npm(name: &str) -> String {
    let script = folder().join(format!("node_modules/@modelcontextprotocol/{name}/dist/index.js"));
    assert!(script.exists(), "{} is missing", script.display());
    script.to_str().unwrap().to_owned()
}

fn everything(name: &str) -> ServerOptions {
    program(name, "node", &[&npm("server-everything")])
}

fn python(name: &str, server: &str, arguments: &[&str]) -> ServerOptions {
    program(name, folder().join("venv/bin").join(server), arguments)
}

async fn learned(options: Vec<ServerOptions>) -> ServerRegistry {
    let servers = servers(options);
    settle(&servers).await;
    assert_eq!(notices(&servers), Vec::<String>::new());
    servers
}

fn has(servers: &ServerRegistry, key: &str) -> bool {
    keys(servers).iter().any(|known| known == key)
}

#[tokio::test]
async fn the_time_server_tells_the_time() {
    let servers = learned(vec![python("time", "mcp-server-time", &["--local-timezone=UTC"])]).await;
    assert!(has(&servers, "time.get_current_time"));
    assert_eq!(servers.status()[0].protocol.as_deref(), Some("2026-07-28"));
    let arguments = json!({
        "source_timezone": "Europe/Berlin",
        "time": "12:00",
        "target_timezone": "Asia/Kolkata",
    });
    let text = call(&servers, "time.convert_time", arguments).await.unwrap();
    assert!(text.contains("Asia/Kolkata"), "{text}");
    let wrong = json!({"timezone": "Nowhere/Else"});
    let error = call(&servers, "time.get_current_time", wrong).await.unwrap_err().to_string();
    assert!(error.contains("Nowhere/Else"), "{error}");
    servers.shut_down().await;
}

#[tokio::test]
async fn the_git_server_tells_of_a_repository() {
    let repository = tempfile::tempdir().unwrap();
    let path = repository.path().to_str().unwrap();
    let made = std::process::Command::new("git").args(["init", "-q", path]).status().unwrap();
    assert!(made.success());
    fs::write(repository.path().join("new.txt"), "new").unwrap();
    let servers = learned(vec![python("git", "mcp-server-git", &["--repository", path])]).await;
    let text = call(&servers, "git.git_status", json!({"repo_path": path})).await.unwrap();
    assert!(text.contains("new.txt"), "{text}");
}

#[tokio::test]
async fn the_filesystem_server_reads_and_writes_its_folder() {
    let allowed = TempDir::new().unwrap();
    let path = fs::canonicalize(allowed.path()).unwrap();
    let path = path.to_str().unwrap();
    let options = program("my_files", "node", &[&npm("server-filesystem"), path]);
    let servers = learned(vec![options]).await;
    let file = format!("{path}/a.txt");
    let write = json!({"path": file, "content": "hello"});
    call(&servers, "my_files.write_file", write).await.unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "hello");
    let text = call(&servers, "my_files.read_text_file", json!({"path": file})).await.unwrap();
    assert_eq!(text, "hello");
    let outside = json!({"path": "/etc/passwd"});
    let error = call(&servers, "my_files.read_text_file", outside).await.unwrap_err().to_string();
    assert!(error.contains("denied"), "{error}");
    let called: Vec<_> = servers.tools().specs.iter().map(|s| s.called.to_string()).collect();
    assert!(called.contains(&"my_files_read_text_file".to_owned()), "{called:?}");
}

#[tokio::test]
async fn the_server_with_everything_is_understood() {
    let servers = learned(vec![everything("everything")]).await;
    let echo = call(&servers, "everything.echo", json!({"message": "ä\n\"b\""})).await.unwrap();
    assert_eq!(echo, "Echo: ä\n\"b\"");
    let sum = call(&servers, "everything.get-sum", json!({"a": 1, "b": 2})).await.unwrap();
    assert!(sum.contains('3'), "{sum}");
    let image = call(&servers, "everything.get-tiny-image", json!({})).await.unwrap();
    assert!(image.contains("[image image/png, "), "{image}");
    let env = call(&servers, "everything.get-env", json!({})).await.unwrap();
    assert!(env.contains("PATH") && !env.contains("CARGO"), "{env}");
    let wrong = call(&servers, "everything.get-sum", json!({"a": "x"})).await.unwrap_err();
    assert!(!wrong.to_string().is_empty());

    let report = servers.check("everything").await.unwrap();
    assert!(report.implementation.is_some());
    assert_eq!(report.tools, servers.tools().specs);
}

/// The processes whose command line holds this text.
fn processes(text: &str) -> Vec<i32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_it = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(text)
    };
    pids.filter(is_it).collect()
}

#[tokio::test]
async fn one_that_is_killed_in_a_call_is_started_again_and_removed() {
    // The server does not mind an argument more, by which it is found.
    let mark = format!("--recto-test={}", std::process::id());
    let mut options = everything("everything");
    if let ServerTransport::Stdio { arguments, .. } = &mut options.transport {
        arguments.extend(["stdio".to_owned(), mark.clone()]);
    }
    let servers = learned(vec![options]).await;
    let [pid] = processes(&mark)[..] else { panic!("one server runs") };
    let revision = servers.tools().revision;
    let long = json!({"duration": 600, "steps": 600});
    let calling = tokio::spawn({
        let servers = servers.clone();
        async move { call(&servers, "everything.trigger-long-running-operation", long).await }
    });
    // Others are answered meanwhile.
    call(&servers, "everything.echo", json!({"message": "hi"})).await.unwrap();
    assert!(!calling.is_finished());
    kill(pid);
    let error = calling.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("was ended by signal 9"), "{error}");
    assert_eq!(servers.tools().revision, revision + 1);

    let echo = call(&servers, "everything.echo", json!({"message": "again"})).await.unwrap();
    assert_eq!(echo, "Echo: again");
    assert_eq!(notices(&servers), Vec::<String>::new());
    let [again] = processes(&mark)[..] else { panic!("one server runs") };
    assert_ne!(again, pid);

    drop(servers);
    until(|| processes(&mark).is_empty()).await;
}

/// The server with everything at a port of its own.
async fn at_a_port() -> (Child, String) {
    for _ in 0..5 {
        let port = {
            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            free.local_addr().unwrap().port()
        };
        let mut server = Command::new("node")
            .args([&npm("server-everything"), "streamableHttp"])
            .env("PORT", port.to_string())
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if line.contains("listening") {
                tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
                return (server, format!("http://127.0.0.1:{port}/mcp"));
            }
        }
    }
    panic!("the server finds no port");
}

#[tokio::test]
async fn one_at_an_address_is_used_and_missed_when_it_is_gone() {
    let (mut server, url) = at_a_port().await;
    let options = options("web", ServerTransport::Http { url, key: None });
    let servers = learned(vec![options]).await;
    assert_eq!(servers.status()[0].protocol.as_deref(), Some("2025-11-25"));
    let answers = join_all((0..5).map(|n| {
        let servers = &servers;
        async move { call(servers, "web.echo", json!({"message": n.to_string()})).await }
    }));
    for (n, answer) in answers.await.into_iter().enumerate() {
        assert_eq!(answer.unwrap(), format!("Echo: {n}"));
    }
    let long = json!({"duration": 600, "steps": 600});
    let calling = tokio::spawn({
        let servers = servers.clone();
        async move { call(&servers, "web.trigger-long-running-operation", long).await }
    });
    call(&servers, "web.echo", json!({"message": "meanwhile"})).await.unwrap();
    server.kill().await.unwrap();
    let error = calling.await.unwrap().unwrap_err().to_string();
    assert!(error.starts_with("the MCP server `web`"), "{error}");
    let error = call(&servers, "web.echo", json!({"message": "x"})).await.unwrap_err().to_string();
    assert!(error.contains("can't be reached"), "{error}");
    assert!(!notices(&servers).is_empty());
    servers.shut_down().await;
}
