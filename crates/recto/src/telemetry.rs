//! Where the agents' spans and events go: to standard error or a file, and to a collector.
//!
//! What is told is decided in `recto-agent`'s `trace.rs`; here is only who hears it. What people
//! and models say reaches nobody unless the config asks for it.

mod otlp;

use std::io;
use std::sync::Arc;

use opentelemetry_sdk::trace::SdkTracerProvider;
use recto_agent::CONTENTS;
use recto_fs::append_private;
use tracing::Metadata;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::FilterFn;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry, fmt};

use crate::config::{LogFormat, LogLevel, LogSettings, Settings};
use crate::failure::{CliFailure, CliResult};
use crate::output::tell;

type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Where lines go where the config names no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsualLog {
    /// To standard error.
    Stderr,
    /// Nowhere: a person looks at the screen.
    Nowhere,
}

/// The logs and the collector of this process. What waits to be sent is sent when it is dropped.
pub(crate) struct Telemetry {
    provider: Option<SdkTracerProvider>,
}

impl Telemetry {
    /// Begins to tell what the config wants told. Must be called within a tokio runtime where
    /// there is a collector.
    pub(crate) fn start(settings: &Settings, usual: UsualLog) -> CliResult<Self> {
        let mut layers: Vec<BoxedLayer> = Vec::new();
        layers.extend(log_layer(&settings.log, usual)?);
        let provider = match &settings.telemetry.otlp {
            Some(endpoint) => Some(otlp::start_exporter(endpoint)?),
            None => None,
        };
        if let Some(provider) = &provider {
            layers.push(otlp::span_layer(provider, wanted(&settings.log)));
        }
        if !layers.is_empty() {
            let told = tracing::subscriber::set_global_default(Registry::default().with(layers));
            if let Err(error) = told {
                tell(&format_args!("warning: logs can't be written: {error}"));
            }
        }
        Ok(Telemetry { provider })
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(provider) = &self.provider {
            // A collector that is gone must not hold the end of the program up.
            let _ = provider.shutdown_with_timeout(otlp::LAST_EXPORT);
        }
    }
}

/// What lines are written of: events. They say all themselves, and spans are for collectors.
fn told_in(log: &LogSettings) -> FilterFn<impl Fn(&Metadata<'_>) -> bool + use<>> {
    let contents = log.contents;
    FilterFn::new(move |about: &Metadata<'_>| !about.is_span() && is_wanted(about, contents))
}

/// What is passed on: Recto's own, and contents only where they are wanted.
fn wanted(log: &LogSettings) -> FilterFn<impl Fn(&Metadata<'_>) -> bool + use<>> {
    let contents = log.contents;
    FilterFn::new(move |about: &Metadata<'_>| is_wanted(about, contents))
}

fn is_wanted(about: &Metadata<'_>, contents: bool) -> bool {
    about.target().starts_with("recto") && (contents || about.target() != CONTENTS)
}

/// The layer that writes lines, if any are to be written.
fn log_layer(log: &LogSettings, usual: UsualLog) -> CliResult<Option<BoxedLayer>> {
    let writer = match (&log.file, usual) {
        (Some(path), _) => {
            let file = append_private(path).map_err(|error| {
                CliFailure::new(format!("cannot write the log {}", path.display()))
                    .because(&error)
                    .hint("name another file as `log.file`")
            })?;
            BoxMakeWriter::new(Arc::new(file))
        }
        (None, UsualLog::Stderr) => BoxMakeWriter::new(io::stderr),
        (None, UsualLog::Nowhere) => return Ok(None),
    };
    let lines = fmt::layer().with_writer(writer).with_target(false).with_ansi(false);
    let level = level_filter(log.level);
    Ok(Some(match log.format {
        LogFormat::Text => lines.with_filter(level).with_filter(told_in(log)).boxed(),
        LogFormat::Json => lines.json().with_filter(level).with_filter(told_in(log)).boxed(),
    }))
}

fn level_filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    }
}
