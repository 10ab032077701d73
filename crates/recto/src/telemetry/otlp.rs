//! Spans on their way to a collector, by OTLP over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;
use tracing::Metadata;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::FilterFn;

use super::BoxedLayer;
use crate::failure::{CliFailure, CliResult};

/// How long the last spans may take to be sent when the program ends.
pub(super) const LAST_EXPORT: Duration = Duration::from_secs(2);

/// How long one batch may take.
const EXPORT: Duration = Duration::from_secs(10);

/// Starts to send spans to a collector, in the background. One that does not answer loses them,
/// and nothing else.
pub(super) fn start_exporter(endpoint: &str) -> CliResult<SdkTracerProvider> {
    let failure = |error: &dyn std::error::Error| {
        CliFailure::new(format!("cannot send traces to {endpoint}"))
            .because(error)
            .hint("correct `telemetry.otlp`, or leave it out")
    };
    // Whoever was first has chosen the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().timeout(EXPORT).no_proxy().build();
    let client = CollectorClient {
        http: client.map_err(|error| failure(&error))?,
        runtime: Handle::current(),
    };
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(client)
        .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
        .build()
        .map_err(|error| failure(&error))?;
    let resource = Resource::builder()
        .with_service_name("recto")
        .with_attribute(opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build();
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build())
}

/// The layer that hands spans over.
pub(super) fn span_layer(
    provider: &SdkTracerProvider,
    wanted: FilterFn<impl Fn(&Metadata<'_>) -> bool + Send + Sync + 'static>,
) -> BoxedLayer {
    let spans = tracing_opentelemetry::layer().with_tracer(provider.tracer("recto"));
    // Where in the code a span began helps nobody who looks at turns.
    let spans = spans.with_location(false).with_threads(false).with_tracked_inactivity(false);
    spans.with_filter(LevelFilter::INFO).with_filter(wanted).boxed()
}

/// An HTTP client for a thread that is none of the runtime's, which is where spans are sent from.
#[derive(Debug)]
struct CollectorClient {
    http: reqwest::Client,
    runtime: Handle,
}

#[async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request = reqwest::Request::try_from(request)?;
        let http = self.http.clone();
        let answer = self.runtime.spawn(async move {
            let answer = http.execute(request).await?;
            let status = answer.status();
            Ok::<_, reqwest::Error>((status, answer.bytes().await?))
        });
        let (status, body) = answer.await??;
        Ok(Response::builder().status(status).body(body)?)
    }
}
