//! A prompt as a bar: its layers in their order at the scale of the window, what was cached hatched.

use maud::{Markup, html};
use recto_context::{Budget, Layer, RecordOutline, RequestContext, Tokens};

/// The layers of a request, with what of each was cached.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LayerBar {
    segments: Vec<BarSegment>,
    budget: Budget,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct BarSegment {
    layer: Layer,
    tokens: u32,
    cached: u32,
}

impl LayerBar {
    /// The bar of a recorded request, whose first `cached` tokens a server need not read again.
    pub(crate) fn from_outline(outline: &RecordOutline, cached: Tokens) -> Self {
        LayerBar::new(&outline.layers, outline.budget, cached)
    }

    /// The bar of a request.
    pub(crate) fn from_request(request: &RequestContext, cached: Tokens) -> Self {
        let layers: Vec<_> =
            Layer::ALL.into_iter().map(|layer| (layer, request.layer_tokens(layer))).collect();
        LayerBar::new(&layers, request.budget, cached)
    }

    fn new(layers: &[(Layer, Tokens)], budget: Budget, cached: Tokens) -> Self {
        // Servers read the schemas of tools first, wherever the bar has them.
        let schemas = budget.tools.get().min(cached.get());
        let mut left = cached.get() - schemas;
        let segments = layers.iter().map(|(layer, tokens)| {
            let of_tools = *layer == Layer::Tools;
            let texts = tokens.get() - if of_tools { budget.tools.get() } else { 0 };
            let of_texts = texts.min(left);
            left -= of_texts;
            let cached = of_texts + if of_tools { schemas } else { 0 };
            BarSegment { layer: *layer, tokens: tokens.get(), cached }
        });
        LayerBar { segments: segments.collect(), budget }
    }

    /// The bar as a drawing; `label` says for those who don't see it what it shows.
    pub(crate) fn render(&self, label: Option<&str>) -> Markup {
        let window = f64::from(self.budget.window.get().max(1));
        let percent = |tokens: u32| f64::from(tokens) * 100.0 / window;
        let mut at = 0;
        let placed: Vec<(BarSegment, u32)> = self
            .segments
            .iter()
            .map(|segment| {
                let start = at;
                at += segment.tokens;
                (*segment, start)
            })
            .filter(|(segment, _)| segment.tokens > 0)
            .collect();
        let (kept, used) = (percent(self.budget.reply.get()), percent(at).min(100.0));
        let free = (100.0 - used - kept).max(0.0);
        html! {
            svg.bar height="5" role=[label.map(|_| "img")] aria-label=[label]
                aria-hidden=[label.is_none().then_some("true")] {
                @for (segment, start) in &placed {
                    rect class={ "l-" (segment.layer.name()) } x=(length(percent(*start)))
                        width=(length(percent(segment.tokens))) height="5" {}
                }
                @for (segment, start) in placed.iter().filter(|(segment, _)| segment.cached > 0) {
                    rect.cached x=(length(percent(*start)))
                        width=(length(percent(segment.cached))) height="5" {}
                }
                rect.free x=(length(used)) width=(length(free)) height="5" {}
                rect.kept x=(length(100.0 - kept)) width=(length(kept)) height="5" {}
            }
        }
    }
}

/// A length of a drawing, in hundredths of its width.
fn length(percent: f64) -> String {
    format!("{percent:.2}%")
}
