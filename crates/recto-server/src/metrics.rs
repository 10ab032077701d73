//! `/metrics`: what the server and its agents do, in the text form of Prometheus.
//!
//! Only numbers, and the names of routes, models and endings: nothing that anybody said, and no
//! session's name.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use recto_agent::{Agent, ModelTokens, Right};
use recto_store::{Moment, TurnStatus};

use crate::access::Caller;
use crate::gateway::Gateway;
use crate::problem::ApiResult;

/// The bounds of the histogram of durations, in seconds.
const BOUNDS: [f64; 10] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// What is told for a path that no route has.
const NO_ROUTE: &str = "none";

/// What the server counts of its own work.
#[derive(Debug, Default)]
pub(crate) struct ServerMetrics {
    routes: Mutex<BTreeMap<(String, String), RouteMetrics>>,
    streams: Arc<AtomicI64>,
}

/// What is counted of the requests to one route.
#[derive(Debug, Default, Clone)]
struct RouteMetrics {
    statuses: BTreeMap<u16, u64>,
    buckets: [u64; BOUNDS.len()],
    count: u64,
    seconds: f64,
}

/// A stream of events that a client follows. It counts for as long as it is held.
#[derive(Debug)]
pub(crate) struct OpenStream(Arc<AtomicI64>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ServerMetrics {
    /// Counts a stream of events that begins.
    pub(crate) fn open_stream(&self) -> OpenStream {
        self.streams.fetch_add(1, Ordering::Relaxed);
        OpenStream(self.streams.clone())
    }

    fn record(&self, method: &str, route: &str, status: u16, took: Duration) {
        let mut routes = self.routes.lock();
        let metrics = routes.entry((method.to_owned(), route.to_owned())).or_default();
        let seconds = took.as_secs_f64();
        *metrics.statuses.entry(status).or_default() += 1;
        metrics.count += 1;
        metrics.seconds += seconds;
        for (bucket, bound) in metrics.buckets.iter_mut().zip(BOUNDS) {
            *bucket += u64::from(seconds <= bound);
        }
    }

    /// Writes what was counted of requests and streams.
    fn write(&self, page: &mut MetricsPage) {
        let routes = self.routes.lock().clone();
        page.family("recto_http_requests_total", "counter", "Requests, by route and status.");
        for ((method, route), metrics) in &routes {
            for (status, count) in &metrics.statuses {
                let labels =
                    [("method", method), ("route", route), ("status", &status.to_string())];
                page.sample("recto_http_requests_total", &labels, *count as f64);
            }
        }
        let name = "recto_http_request_duration_seconds";
        page.family(name, "histogram", "The time until the head of an answer, by route.");
        for ((method, route), metrics) in &routes {
            let labels = [("method", method), ("route", route)];
            let bounds = BOUNDS.map(|bound| bound.to_string());
            for (bound, count) in bounds.iter().zip(metrics.buckets) {
                let labels = [("method", method), ("route", route), ("le", bound)];
                page.sample(&format!("{name}_bucket"), &labels, count as f64);
            }
            let all = "+Inf".to_owned();
            let labelled = [("method", method), ("route", route), ("le", &all)];
            page.sample(&format!("{name}_bucket"), &labelled, metrics.count as f64);
            page.sample(&format!("{name}_sum"), &labels, metrics.seconds);
            page.sample(&format!("{name}_count"), &labels, metrics.count as f64);
        }
        page.family("recto_event_streams", "gauge", "Streams of events that clients follow.");
        page.sample::<&str>(
            "recto_event_streams",
            &[],
            self.streams.load(Ordering::Relaxed) as f64,
        );
    }
}

/// Counts a request and how long its answer took.
pub(crate) async fn measure_request(
    State(gateway): State<Gateway>,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let method = match request.method().as_str() {
        // Whatever else a client invents would be a label of its own.
        known @ ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS") => {
            known.to_owned()
        }
        _ => "OTHER".to_owned(),
    };
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or(NO_ROUTE, MatchedPath::as_str).to_owned();
    let answer = next.run(request).await;
    gateway.metrics().record(&method, &route, answer.status().as_u16(), began.elapsed());
    answer
}

/// Tells all that is counted.
pub(crate) async fn show_metrics(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
) -> ApiResult<impl IntoResponse> {
    actor.must_have(Right::SeeSessions)?;
    let mut page = MetricsPage(String::new());
    write_turns(gateway.agents(), &mut page);
    let open = gateway.store().open_turns().await?.turns;
    page.family("recto_open_turns", "gauge", "Turns that are queued or running, anywhere.");
    for status in [TurnStatus::Queued, TurnStatus::Running] {
        let count = open.iter().filter(|turn| turn.status == status).count();
        page.sample("recto_open_turns", &[("status", status.name())], count as f64);
    }
    let questions = gateway.store().open_approvals(Moment::now()).await?.len();
    page.family("recto_open_questions", "gauge", "Questions that wait for a person's answer.");
    page.sample::<&str>("recto_open_questions", &[], questions as f64);
    gateway.metrics().write(&mut page);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page.0))
}

/// Writes what the turns of this process came to.
fn write_turns(agents: &[Agent], page: &mut MetricsPage) {
    let counted: Vec<_> =
        agents.iter().map(|agent| (agent.name(), agent.turn_counters())).collect();
    page.family("recto_turns_total", "counter", "Turns that ended in this process, by how.");
    for (agent, counters) in &counted {
        for (ending, count) in &counters.endings {
            page.sample(
                "recto_turns_total",
                &[("agent", *agent), ("ending", *ending)],
                *count as f64,
            );
        }
    }
    type CountOf = fn(&ModelTokens) -> u64;
    let kinds: [(&str, &str, CountOf); 4] = [
        ("recto_model_requests_total", "Requests to a model's server.", |of| of.requests),
        ("recto_prompt_tokens_total", "Tokens of prompts, cached ones included.", |of| of.prompt),
        ("recto_cached_tokens_total", "Tokens of prompts out of a cache.", |of| of.cached),
        ("recto_completion_tokens_total", "Tokens of replies.", |of| of.completion),
    ];
    for (name, help, count) in kinds {
        page.family(name, "counter", help);
        for (agent, counters) in &counted {
            for (model, tokens) in &counters.models {
                page.sample(
                    name,
                    &[("agent", *agent), ("model", model.as_str())],
                    count(tokens) as f64,
                );
            }
        }
    }
}

/// A page of metrics in the making.
struct MetricsPage(String);

impl MetricsPage {
    /// Begins the samples of one name.
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing into a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample<V: AsRef<str>>(&mut self, name: &str, labels: &[(&str, V)], value: f64) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(label, value)| format!("{label}=\"{}\"", escape_label(value.as_ref())))
            .collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }
}

/// The value of a label, so that it can't end it.
fn escape_label(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_route_and_status_and_labels_are_escaped() {
        let metrics = ServerMetrics::default();
        metrics.record("GET", "/api/sessions", 200, Duration::from_millis(7));
        metrics.record("GET", "/api/sessions", 404, Duration::from_secs(60));
        let stream = metrics.open_stream();
        let mut page = MetricsPage(String::new());
        metrics.write(&mut page);
        for line in [
            "recto_http_requests_total{method=\"GET\",route=\"/api/sessions\",status=\"200\"} 1",
            "recto_http_request_duration_seconds_bucket{method=\"GET\",route=\"/api/sessions\",le=\"0.005\"} 0",
            "recto_http_request_duration_seconds_bucket{method=\"GET\",route=\"/api/sessions\",le=\"0.01\"} 1",
            "recto_http_request_duration_seconds_bucket{method=\"GET\",route=\"/api/sessions\",le=\"+Inf\"} 2",
            "recto_event_streams 1",
        ] {
            assert!(page.0.lines().any(|written| written == line), "{line}\n{}", page.0);
        }
        drop(stream);
        assert_eq!(metrics.streams.load(Ordering::Relaxed), 0);
        page.sample("x", &[("model", "a\"b\\c\nd")], 1.0);
        assert!(page.0.ends_with("x{model=\"a\\\"b\\\\c\\nd\"} 1\n"), "{}", page.0);
    }
}
