//! Drops records that are older than `store.retention`, once a day while the server runs.

use std::time::Duration;

use recto_store::Store;
use tokio::time::sleep;

use crate::commands::store::drop_old_records;
use crate::output::tell;

/// From the start, so that nothing is in the way of what people ask first.
const FIRST: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Never ends, unless everything is kept.
pub(super) async fn drop_daily(store: Store, retention: Option<u32>) {
    if retention.is_none() {
        return;
    }
    sleep(FIRST).await;
    loop {
        if let Err(error) = drop_old_records(&store, retention).await {
            tell(&format_args!("warning: old records could not be dropped: {error}"));
        }
        sleep(DAY).await;
    }
}
