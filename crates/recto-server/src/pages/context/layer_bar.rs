//! The bar of layers: the window, the wedge that opens it, and the prompt by layer, with what was
//! cached hatched. Drawn as SVG with shares of the width, so that it needs no script and no style.

use maud::{Markup, html};
use recto_agent::CacheSource;
use recto_context::{Layer, RequestContext, Tokens};

use super::view::{LayerShare, RequestView};

/// The height of the bars, in pixels.
const THIN: u32 = 6;
const WEDGE: u32 = 14;
const THICK: u32 = 30;

/// The least share of the width, in percent, in which a letter has room: on a wide page, and on a
/// phone.
const ROOM_WIDE: f64 = 1.2;
const ROOM_NARROW: f64 = 4.0;

/// Window, wedge and prompt of a request.
pub(crate) fn layer_figure(view: &RequestView) -> Markup {
    let context = &view.context;
    let layers = view.layers();
    html! {
        figure {
            (window_bar(context))
            (wedge(context))
            (prompt_bar(&layers, view.cache_source))
            (letters(&layers))
        }
    }
}

/// The layers as a list, each with its tokens, its share and what of it was fresh.
pub(crate) fn layer_list(view: &RequestView, prefix: &str) -> Markup {
    let total = view.context.prompt_tokens();
    html! {
        ol.layers aria-label="Layers" {
            @for share in view.layers() {
                (layer_entry(view, share, total, prefix))
            }
        }
    }
}

fn layer_entry(view: &RequestView, share: LayerShare, total: Tokens, prefix: &str) -> Markup {
    let LayerShare { layer, tokens, .. } = share;
    let label = html! { span.mono { (layer.letter()) } " " (layer) };
    let about = describe_layer(layer);
    html! {
        @if tokens == Tokens::ZERO {
            li class={ "l-" (layer) " none" } title=(about) { span.lname { (label) } " " b { "–" } " nothing" }
        } @else {
            li class={ "l-" (layer) } title=(about) {
                a.lname href={ "#" (prefix) (layer) } { (label) } " "
                b { (tokens) } " "
                (whole_percent(tokens, total)) " %"
                @if let Some(words) = freshness(view.cache_source, share) { " · " (words) }
            }
        }
    }
}

/// What stands in a layer.
fn describe_layer(layer: Layer) -> &'static str {
    match layer {
        Layer::System => "who the agent is: SOUL, IDENTITY, AGENTS, USER",
        Layer::Bootstrap => "where it runs: the agent, the workspace, the day",
        Layer::Memory => "what is remembered",
        Layer::Skills => "the list of skills, and those that are in the session",
        Layer::Tools => "the tools that can be called, with their schemas",
        Layer::Items => "rules and references of the session",
        Layer::History => "what was said before",
        Layer::Picks => "what search found for this message alone",
        Layer::Message => "the message itself",
        Layer::Rounds => "what tools were called in this turn, and what they gave",
    }
}

/// How much of a layer was cached, in a word; nothing where nobody knows.
pub(crate) fn freshness(source: CacheSource, share: LayerShare) -> Option<String> {
    let fresh = share.tokens - share.cached;
    match source {
        CacheSource::Nobody => None,
        _ if fresh == Tokens::ZERO => Some(source.cached_word().to_owned()),
        _ if share.cached == Tokens::ZERO => Some("fresh".to_owned()),
        _ => Some(format!("{fresh} fresh")),
    }
}

/// A whole percentage, rounded.
pub(crate) fn whole_percent(part: Tokens, whole: Tokens) -> u64 {
    let whole = u64::from(whole.get().max(1));
    (u64::from(part.get()) * 100 + whole / 2) / whole
}

fn window_bar(context: &RequestContext) -> Markup {
    let window = context.window.tokens;
    let (prompt, reply) = (context.prompt_tokens(), context.budget.reply);
    let used = share_of(prompt, window);
    let kept = share_of(reply, window).min(100.0 - used);
    let free = 100.0 - used - kept;
    let label = format!(
        "The prompt takes {prompt} of a window of {window} tokens; {reply} are kept for the reply"
    );
    html! {
        svg.bar height=(THIN) role="img" aria-label=(label) {
            rect.used width=(percent(used)) height=(THIN) {}
            rect.free x=(percent(used)) width=(percent(free)) height=(THIN) {}
            rect.kept x=(percent(100.0 - kept)) width=(percent(kept)) height=(THIN) {}
        }
    }
}

fn wedge(context: &RequestContext) -> Markup {
    let used = share_of(context.prompt_tokens(), context.window.tokens);
    html! {
        svg.bar height=(WEDGE) viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true" {
            polygon.zoom points={ "0,0 " (rounded(used)) ",0 100,14 0,14" } {}
        }
    }
}

fn prompt_bar(layers: &[LayerShare], source: CacheSource) -> Markup {
    let total: Tokens = layers.iter().map(|share| share.tokens).sum();
    let label = "The prompt by layer, in the order of the page; the list of layers below has the \
                 same numbers";
    html! {
        svg.bar height=(THICK) role="img" aria-label=(label) {
            @for segment in segments(layers, total) {
                rect class={ "seg l-" (segment.share.layer) } x=(percent(segment.start)) y="0"
                    width=(percent(segment.width)) height=(THICK) {
                    title { (segment.title(source)) }
                }
                (cached_rect(&segment))
            }
        }
    }
}

fn letters(layers: &[LayerShare]) -> Markup {
    let total: Tokens = layers.iter().map(|share| share.tokens).sum();
    let with_room = segments(layers, total).into_iter().filter(|it| it.width >= ROOM_WIDE);
    html! {
        svg.bar height="16" aria-hidden="true" {
            @for segment in with_room {
                text class=[(segment.width < ROOM_NARROW).then_some("wide")]
                    x=(percent(segment.start + segment.width / 2.0)) y="12" text-anchor="middle" {
                    (segment.share.layer.letter())
                }
            }
        }
    }
}

/// What was cached of a layer, which is always its beginning.
fn cached_rect(segment: &LayerSegment) -> Markup {
    let width = segment.width * share_of(segment.share.cached, segment.share.tokens) / 100.0;
    html! {
        @if width > 0.0 {
            rect.cached x=(percent(segment.start)) y="0" width=(percent(width)) height=(THICK) {}
        }
    }
}

/// A layer in the bar, in percent of its width.
struct LayerSegment {
    share: LayerShare,
    start: f64,
    width: f64,
}

impl LayerSegment {
    fn title(&self, source: CacheSource) -> String {
        let LayerShare { layer, tokens, .. } = self.share;
        match freshness(source, self.share) {
            Some(words) => format!("{layer}: {tokens} tokens, {words}"),
            None => format!("{layer}: {tokens} tokens"),
        }
    }
}

fn segments(layers: &[LayerShare], whole: Tokens) -> Vec<LayerSegment> {
    let mut start = 0.0;
    let mut segments = Vec::new();
    for share in layers.iter().filter(|share| share.tokens > Tokens::ZERO) {
        let width = share_of(share.tokens, whole).min(100.0 - start);
        segments.push(LayerSegment { share: *share, start, width });
        start += width;
    }
    segments
}

/// A share in percent, at most all of it.
fn share_of(part: Tokens, whole: Tokens) -> f64 {
    (f64::from(part.get()) * 100.0 / f64::from(whole.get().max(1))).min(100.0)
}

fn percent(value: f64) -> String {
    format!("{}%", rounded(value))
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use recto_context::Layer;

    use super::*;

    fn share(layer: Layer, tokens: u32, cached: u32) -> LayerShare {
        LayerShare { layer, tokens: Tokens::new(tokens), cached: Tokens::new(cached) }
    }

    #[test]
    fn segments_stand_side_by_side_and_empty_layers_have_none() {
        let layers = [
            share(Layer::System, 25, 25),
            share(Layer::Memory, 0, 0),
            share(Layer::History, 75, 50),
        ];
        let drawn = segments(&layers, Tokens::new(100));
        let places: Vec<(f64, f64)> = drawn.iter().map(|it| (it.start, it.width)).collect();
        assert_eq!(places, [(0.0, 25.0), (25.0, 75.0)]);
        assert_eq!(drawn[0].title(CacheSource::Server), "system: 25 tokens, cached");
        assert_eq!(drawn[1].title(CacheSource::Server), "history: 75 tokens, 25 fresh");
    }

    #[test]
    fn a_prompt_that_is_over_its_window_fills_it() {
        let drawn = segments(
            &[share(Layer::System, 200, 0), share(Layer::History, 5, 0)],
            Tokens::new(100),
        );
        assert_eq!((drawn[0].width, drawn[1].width), (100.0, 0.0));
    }

    #[test]
    fn what_nobody_knows_of_a_cache_is_not_told() {
        let half = share(Layer::History, 10, 5);
        assert_eq!(freshness(CacheSource::Server, half).unwrap(), "5 fresh");
        assert_eq!(freshness(CacheSource::Server, share(Layer::Items, 9, 9)).unwrap(), "cached");
        let before = freshness(CacheSource::RequestBefore, share(Layer::Items, 9, 9));
        assert_eq!(before.unwrap(), "as before");
        assert_eq!(freshness(CacheSource::Nobody, half), None);
    }
}
