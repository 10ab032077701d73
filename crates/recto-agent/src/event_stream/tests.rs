//! Listeners: slow ones, many at once, ones that look away in the middle of a wait,
//! and ones that stay when everybody else has gone.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::*;
use crate::notice::NoticeFacts;

fn session() -> SessionId {
    "1".parse().unwrap()
}

fn turn() -> TurnId {
    "1".parse().unwrap()
}

fn text(text: &str) -> EventKind {
    EventKind::Text { text: text.to_owned() }
}

/// The text of an event that has one.
fn text_of(event: TurnEvent) -> String {
    match event.event {
        EventKind::Text { text } => text,
        other => panic!("{other:?}"),
    }
}

/// Promise: `slow-listener-hears-the-end`
#[tokio::test(start_paused = true)]
async fn one_who_reads_an_event_a_second_hears_ten_thousand_pieces() {
    const PIECES: usize = 10_000;
    let streams = EventStreams::default();
    let stream = streams.of_session(session());
    let mut listener = stream.listen(EventCursor::Now);
    let speaker = tokio::spawn(async move {
        let mut whole = String::new();
        for number in 0..PIECES {
            let piece = format!("piece {number} ");
            whole += &piece;
            stream.publish(turn(), text(&piece));
            sleep(Duration::from_millis(1)).await;
        }
        stream.publish(turn(), EventKind::Notice(NoticeFacts::ReplyWithheld.into()));
        whole
    });
    let (mut heard, mut events) = (String::new(), 0);
    loop {
        sleep(Duration::from_secs(1)).await;
        let event = listener.next().await.unwrap();
        events += 1;
        match event.event {
            EventKind::Notice { .. } => break,
            _ => heard += &text_of(event),
        }
    }
    assert_eq!(heard, speaker.await.unwrap());
    assert!(events < 20, "{events} events");
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_given_up_loses_nothing() {
    let streams = EventStreams::default();
    let stream = streams.of_session(session());
    let mut listener = stream.listen(EventCursor::Now);
    let speaker = tokio::spawn(async move {
        for _ in 0..100 {
            sleep(Duration::from_millis(10)).await;
            stream.publish(turn(), text("word "));
        }
        stream
    });
    let mut heard = String::new();
    while heard.len() < 500 {
        // Most waits are given up before there is anything to hear.
        if let Ok(event) = timeout(Duration::from_millis(3), listener.next()).await {
            heard += &text_of(event.unwrap());
        }
    }
    assert_eq!(heard, "word ".repeat(100));
    drop(speaker.await.unwrap());
}

#[tokio::test]
async fn every_listener_hears_everything_at_its_own_pace() {
    let streams = EventStreams::default();
    let stream = streams.of_session(session());
    let begin = stream.last();
    let listeners: Vec<_> = (0..50).map(|_| stream.listen(EventCursor::Now)).collect();
    for number in 0..200 {
        stream.publish(turn(), text(&format!("{number} ")));
    }
    let whole: String = (0..200).map(|number| format!("{number} ")).collect();
    for mut listener in listeners {
        assert_eq!(text_of(listener.next().await.unwrap()), whole);
    }
    // One who has not begun to listen yet names where.
    let mut late = stream.listen(EventCursor::After(begin));
    assert_eq!(text_of(late.next().await.unwrap()), whole);
}

#[test]
fn a_stream_lives_as_long_as_somebody_needs_it_and_its_numbers_only_grow() {
    let streams = EventStreams::default();
    let stream = streams.of_session(session());
    assert!(!stream.is_anybody_there());
    let listener = stream.listen(EventCursor::Now);
    assert!(stream.is_anybody_there());
    let number = stream.last();
    // The task that ran turns is gone; whoever runs the next finds the listener.
    drop(stream);
    assert!(streams.of_session(session()).is_anybody_there());
    assert_eq!(streams.of_session(session()).last(), number);
    assert_eq!(streams.count(), 1);
    drop(listener);
    assert_eq!(streams.count(), 0);
    // Another one never gives a number again.
    let mut highest = number;
    for _ in 0..100 {
        let stream = streams.of_session(session());
        assert!(stream.last() >= highest);
        (0..1_000).for_each(|_| stream.publish(turn(), EventKind::Accepted));
        highest = stream.last();
    }
    assert!(highest.0 < 1 << 53);
}

#[tokio::test]
async fn a_stream_that_ends_is_read_to_its_end() {
    let streams = EventStreams::default();
    let stream = streams.of_session(session());
    let mut listener = stream.listen(EventCursor::Now);
    stream.publish(turn(), text("last words"));
    drop(streams);
    assert_eq!(text_of(listener.next().await.unwrap()), "last words");
    assert_eq!(listener.next().await, None);
}
