//! What agents do at set times, over the API and in the pages.

use std::time::Duration;

use recto_agent::{Actor, DeliveryTarget, SchedulePlan, ScheduleRequest, ScheduleSettings};
use serde_json::{Value, json};

use super::DescribedServer;

async fn add(api: &DescribedServer, target: DeliveryTarget) {
    let request = ScheduleRequest {
        name: "tide".to_owned(),
        plan: SchedulePlan::cron("0 * * * *", Some("Europe/Berlin")).unwrap(),
        task: "report the tide".to_owned(),
        settings: ScheduleSettings::default(),
        target,
    };
    api.server.agent.add_schedule(&Actor::owner("ana"), request).await.unwrap();
}

/// Waits until a schedule's newest run is over, and gives it.
async fn ended_run(api: &DescribedServer) -> Value {
    for _ in 0..3_000 {
        let runs = api.get("/api/schedules/tide/runs").await;
        if !runs["runs"][0]["ended"].is_null() {
            return runs["runs"][0].clone();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the run does not end");
}

#[tokio::test(flavor = "multi_thread")]
async fn schedules_are_listed_shown_run_logged_and_removed() {
    let api = DescribedServer::start().await;
    let talk = api.begin("talk").await;
    let target = api.server.agent.find_delivery_target("talk").await.unwrap();
    add(&api, target).await;
    let listed = api.get("/api/schedules").await;
    assert_eq!(listed["schedules"][0]["name"], "tide", "{listed}");
    assert_eq!(listed["schedules"][0]["plan"]["cron"]["zone"], "Europe/Berlin");
    let shown = api.get("/api/schedules/tide").await;
    assert_eq!(
        (&shown["to"], &shown["answer_to"]),
        (&json!({"session": talk}), &json!("session talk"))
    );
    let (status, begun) = api.ask("POST", "/api/schedules/tide/runs", None).await;
    assert_eq!((status, &begun["schedule"], &begun["ended"]), (202, &json!("tide"), &Value::Null));
    let run = ended_run(&api).await;
    assert_eq!((&run["id"], &run["outcome"]), (&begun["id"], &json!("done")), "{run}");
    assert_eq!(run["delivery"], json!({"state": "delivered", "to": "session talk"}));
    let turn = api.get(&format!("/api/turns/{}", run["turn"])).await;
    assert_eq!(turn["turn"]["id"], run["turn"], "{turn}");
    let (status, removed) = api.ask("DELETE", "/api/schedules/tide", None).await;
    assert_eq!((status, &removed["name"]), (200, &json!("tide")));
    let (status, problem) = api.ask("GET", "/api/schedules/tide", None).await;
    assert_eq!((status, &problem["code"]), (404, &json!("no_such_schedule")), "{problem}");
    assert_eq!(api.ask("POST", "/api/schedules/tide/runs", None).await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn schedules_are_added_over_the_api_and_what_can_never_run_is_refused() {
    let api = DescribedServer::start().await;
    let talk = api.begin("talk").await;
    let add = async |body: Value| api.send("POST", "/api/schedules", body).await;
    let body = json!({"name": "tide", "task": "report the tide", "cron": "0 8 * * *",
        "zone": "Europe/Berlin", "to": "talk", "context_mode": "minimal"});
    let (status, added) = add(body.clone()).await;
    assert_eq!((status, &added["name"]), (201, &json!("tide")), "{added}");
    assert_eq!(added["plan"]["cron"], json!({"pattern": "0 8 * * *", "zone": "Europe/Berlin"}));
    assert_eq!(added["to"], json!({"session": talk}), "{added}");
    assert_eq!(added["settings"], json!({"context_mode": "minimal"}), "{added}");
    assert!(!added["next"].is_null(), "{added}");
    assert_eq!(api.get("/api/schedules/tide").await["task"], "report the tide");
    let (status, taken) = add(body.clone()).await;
    assert_eq!(status, 409, "{taken}");
    let once = json!({"name": "call", "task": "call", "at": "2999-01-31T09:00:00+01:00"});
    let (status, added) = add(once).await;
    assert_eq!((status, &added["to"]), (201, &json!("own_session")), "{added}");
    for (field, value, status, code) in [
        ("cron", json!("0 25 * * *"), 400, "schedule_plan"),
        ("cron", Value::Null, 400, "schedule_plan"),
        ("at", json!("2999-01-31 09:00"), 400, "schedule_plan"),
        ("zone", json!("Mars/Olympus"), 400, "schedule_plan"),
        ("name", json!("two words"), 400, "schedule_name"),
        ("task", json!(" "), 400, "empty_message"),
        ("to", json!("nowhere"), 404, "no_such_session"),
        ("to", json!("telegram:7"), 404, "no_such_chat"),
        ("model", json!("nobody"), 400, "no_such_model"),
        ("context_mode", json!("sometimes"), 400, "bad_field"),
        ("colour", json!("red"), 400, "bad_field"),
    ] {
        let mut wrong = body.clone();
        wrong["name"] = json!("other");
        wrong[field] = value.clone();
        let (told, problem) = add(wrong).await;
        assert_eq!((told, &problem["code"]), (status, &json!(code)), "{field} {value}: {problem}");
    }
    assert_eq!(api.get("/api/schedules").await["schedules"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_adds_a_schedule_by_a_form_and_says_what_is_wrong_with_one() {
    let api = DescribedServer::start().await;
    let server = &api.server;
    let page =
        async |path: &str| server.request("GET", path).send().await.unwrap().text().await.unwrap();
    let post = async |fields: &str| {
        let body = format!("agent=main&task=report+the+tide&at=&zone=&to=&model=&{fields}");
        let request = server.request("POST", "/schedules/add").body(body);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let shown = page("/schedules").await;
    assert!(shown.contains("Nothing is scheduled.") && shown.contains("<details"), "{shown}");
    assert_eq!(post("name=tide&cron=0+8+*+*+*").await.0, 303);
    let shown = page("/schedules").await;
    assert!(shown.contains("id=\"schedule-tide\"") && shown.contains("report the tide"), "{shown}");
    let (status, told) = post("name=other&cron=0+8+*").await;
    assert_eq!(status, 400, "{told}");
    assert!(told.contains("it has 3 fields, and five are needed"), "{told}");
    let (status, told) = post("name=other&cron=").await;
    assert!(status == 400 && told.contains("it is not said when it is to run"), "{told}");
    assert_eq!(post("name=tide&cron=0+9+*+*+*").await.0, 409);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_shows_schedules_runs_one_and_removes_it() {
    let api = DescribedServer::start().await;
    let server = &api.server;
    let page =
        async |path: &str| server.request("GET", path).send().await.unwrap().text().await.unwrap();
    let post = async |path: &str| {
        let request = server.request("POST", path).body("agent=main&name=tide");
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        request.send().await.unwrap().status().as_u16()
    };
    assert!(page("/schedules").await.contains("Nothing is scheduled."));
    assert!(page("/workspace").await.contains("no schedules"));
    let talk = api.begin("talk").await;
    let target = server.agent.find_delivery_target("talk").await.unwrap();
    add(&api, target).await;
    let shown = page("/schedules").await;
    assert!(shown.contains("0 * * * * (Europe/Berlin)") && shown.contains("none yet"), "{shown}");
    assert!(shown.contains("CET</td>") || shown.contains("CEST</td>"), "{shown}");
    assert!(page("/workspace").await.contains("1 schedule<"));
    assert_eq!(post("/schedules/run").await, 303);
    let run = ended_run(&api).await;
    let shown = page("/schedules").await;
    assert!(shown.contains(&format!("href=\"/turns/{}\"", run["turn"])), "{shown}");
    // A page that shows the session learns of it, and gets it by itself.
    let states = page(&format!("/sessions/{talk}/states")).await;
    assert_eq!(serde_json::from_str::<Value>(&states).unwrap()["exchange"], 1, "{states}");
    let exchange = page(&format!("/sessions/{talk}/exchanges/1")).await;
    assert!(
        exchange.contains("id=\"message-1\"") && exchange.contains("[schedule tide]"),
        "{exchange}"
    );
    assert_eq!(server.get(&format!("/sessions/{talk}/exchanges/9")).await.0, 404);
    assert_eq!(post("/schedules/remove").await, 303);
    assert!(page("/schedules").await.contains("Nothing is scheduled."));
    assert_eq!(post("/schedules/run").await, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sub_agents_session_takes_no_message_and_says_what_it_is() {
    let api = DescribedServer::start().await;
    let server = &api.server;
    let folder = server.folder.path().join("workspace/agents/pilot");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("soul.md"), "You are the pilot.").unwrap();
    let owner = Actor::owner("ana");
    let task = server.agent.run_sub_agent(&owner, "pilot", "When is high water?").await.unwrap();
    let session = task.session;
    // It is not what the chat opens with, and not in lists that don't ask for it.
    let first = server.request("GET", "/").send().await.unwrap().text().await.unwrap();
    assert!(first.contains("Talk to main"), "{first}");
    let listed = api.get("/api/sessions").await;
    assert_eq!((&listed["total"], &listed["tasks"]), (&json!(0), &json!(1)), "{listed}");
    let listed = api.get("/api/sessions?tasks=true").await;
    assert_eq!(listed["sessions"][0]["id"], json!(session), "{listed}");
    let path = format!("/sessions/{session}");
    let page = server.request("GET", &path).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("This is a task of the sub-agent pilot."), "{page}");
    assert!(!page.contains("<textarea"), "{page}");
    let request = server.request("POST", &format!("{path}/messages")).body("text=hello");
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    assert_eq!(request.send().await.unwrap().status().as_u16(), 409);
    let (status, problem) =
        api.send("POST", &format!("/api/sessions/{session}/messages"), json!({"text": "hi"})).await;
    assert_eq!((status, &problem["code"]), (409, &json!("one_task")), "{problem}");
}
