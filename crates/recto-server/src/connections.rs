//! The connections that are open: how many there may be, in all and from one address, and which
//! has to go when there is no room for another.
//!
//! A connection without a request under way costs its owner nothing, so anybody could hold very many.
//! Here they hold no place that somebody else needs: when the limit is reached, the one that has been
//! idle for longest is closed for the new one. One whose answer nobody reads is as good as idle. Only
//! where all are at work is the new one refused.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::access::household;

/// How many connections a server has, and how long it waits for what they send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// The most that are open at once.
    pub most: usize,
    /// The most that are open at once from one address.
    pub most_from_address: usize,
    /// How long the head of a request may take to arrive, from the end of the one before; and how long
    /// an answer of which nothing is taken keeps its connection from making room.
    pub header_timeout: Duration,
}

impl ConnectionLimits {
    /// So many connections at once, at most three quarters of them from one address.
    pub fn new(most: usize) -> Self {
        let most_from_address = (most - most / 4).max(1);
        ConnectionLimits { most, most_from_address, header_timeout: Duration::from_secs(20) }
    }
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        ConnectionLimits::new(512)
    }
}

/// The connections that are open.
#[derive(Debug)]
pub(crate) struct ConnectionTable {
    limits: ConnectionLimits,
    state: Mutex<TableState>,
}

#[derive(Debug, Default)]
struct TableState {
    /// Counts what happens, so that what was first has the lowest number.
    clock: u64,
    open: HashMap<u64, OpenConnection>,
    by_address: HashMap<IpAddr, AddressConnections>,
    /// Those that can make room, longest idle first.
    idle: BTreeMap<u64, u64>,
}

#[derive(Debug, Default)]
struct AddressConnections {
    count: usize,
    idle: BTreeMap<u64, u64>,
}

#[derive(Debug)]
struct OpenConnection {
    address: IpAddr,
    /// Whether a request is under way.
    is_busy: bool,
    /// Whether what is sent on it has not been taken for long.
    is_stalled: bool,
    /// Since when it is idle or stalled, on the table's clock.
    idle_since: Option<u64>,
    evicted: Arc<Notify>,
}

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    table: Arc<ConnectionTable>,
    number: u64,
    evicted: Arc<Notify>,
}

/// A request that is under way on a connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct BusyConnection {
    slot: Arc<ConnectionSlot>,
}

impl ConnectionTable {
    pub(crate) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(ConnectionTable { limits, state: Mutex::default() })
    }

    /// A place for a connection from this address (of IPv6, this network), if need be that of one
    /// which is idle.
    pub(crate) fn open(self: &Arc<Self>, address: IpAddr) -> Option<Arc<ConnectionSlot>> {
        let address = household(address);
        let mut state = self.state.lock();
        let of_address = state.by_address.get(&address).map_or(0, |of_address| of_address.count);
        if of_address >= self.limits.most_from_address {
            let idle = state.by_address.get(&address)?.idle.values().next().copied()?;
            state.evict(idle);
        }
        if state.open.len() >= self.limits.most {
            let idle = state.idle.values().next().copied()?;
            state.evict(idle);
        }
        let evicted = Arc::new(Notify::new());
        let number = state.insert(address, evicted.clone());
        drop(state);
        Some(Arc::new(ConnectionSlot { table: self.clone(), number, evicted }))
    }

    /// Closes the connection that has been idle for longest. Says whether there was one.
    pub(crate) fn evict_idlest(&self) -> bool {
        let mut state = self.state.lock();
        let idle = state.idle.values().next().copied();
        idle.map(|idle| state.evict(idle)).is_some()
    }
}

impl TableState {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn insert(&mut self, address: IpAddr, evicted: Arc<Notify>) -> u64 {
        let number = self.tick();
        let (is_busy, is_stalled, idle_since) = (false, false, None);
        let connection = OpenConnection { address, is_busy, is_stalled, idle_since, evicted };
        self.open.insert(number, connection);
        self.by_address.entry(address).or_default().count += 1;
        self.change(number, |_| {});
        number
    }

    /// Changes how a connection stands, and with it whether it can make room.
    fn change(&mut self, number: u64, change: impl FnOnce(&mut OpenConnection)) {
        let now = self.tick();
        let Some(connection) = self.open.get_mut(&number) else { return };
        change(connection);
        let of_address = self.by_address.entry(connection.address).or_default();
        match (connection.idle_since, connection.is_stalled || !connection.is_busy) {
            (None, true) => {
                connection.idle_since = Some(now);
                self.idle.insert(now, number);
                of_address.idle.insert(now, number);
            }
            (Some(since), false) => {
                connection.idle_since = None;
                self.idle.remove(&since);
                of_address.idle.remove(&since);
            }
            _ => {}
        }
    }

    fn evict(&mut self, number: u64) {
        if let Some(connection) = self.remove(number) {
            connection.evicted.notify_one();
        }
    }

    fn remove(&mut self, number: u64) -> Option<OpenConnection> {
        let connection = self.open.remove(&number)?;
        let since = connection.idle_since;
        if let Some(since) = &since {
            self.idle.remove(since);
        }
        if let Some(of_address) = self.by_address.get_mut(&connection.address) {
            of_address.count -= 1;
            if let Some(since) = &since {
                of_address.idle.remove(since);
            }
            if of_address.count == 0 {
                self.by_address.remove(&connection.address);
            }
        }
        Some(connection)
    }
}

impl ConnectionSlot {
    /// Marks the connection as busy, for as long as the mark is kept. Requests on one connection
    /// come one after the other.
    pub(crate) fn begin_request(self: &Arc<Self>) -> BusyConnection {
        self.change(|connection| connection.is_busy = true);
        BusyConnection { slot: self.clone() }
    }

    /// Says whether what is sent on it has not been taken for long. Such a connection makes room as
    /// an idle one does.
    pub(crate) fn set_stalled(&self, is_stalled: bool) {
        self.change(|connection| connection.is_stalled = is_stalled);
    }

    fn change(&self, change: impl FnOnce(&mut OpenConnection)) {
        self.table.state.lock().change(self.number, change);
    }

    /// Waits until the connection has to make room for another.
    pub(crate) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for BusyConnection {
    fn drop(&mut self) {
        self.slot.change(|connection| connection.is_busy = false);
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.table.state.lock().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(most: usize, most_from_address: usize) -> Arc<ConnectionTable> {
        let limits = ConnectionLimits { most, most_from_address, ..ConnectionLimits::default() };
        ConnectionTable::new(limits)
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    async fn is_evicted(slot: &ConnectionSlot) -> bool {
        tokio::time::timeout(Duration::ZERO, slot.evicted()).await.is_ok()
    }

    #[tokio::test]
    async fn the_longest_idle_makes_room() {
        let table = table(3, 3);
        let slots: Vec<_> = (0..3).map(|_| table.open(address(1)).unwrap()).collect();
        drop(slots[0].begin_request());
        let busy = slots[1].begin_request();
        let newest = table.open(address(2)).unwrap();
        assert!(is_evicted(&slots[2]).await);
        assert!(!is_evicted(&slots[0]).await);
        let also = table.open(address(2)).unwrap();
        assert!(is_evicted(&slots[0]).await);
        // All that are left are at work.
        let _at_work = (newest.begin_request(), also.begin_request());
        assert!(table.open(address(3)).is_none());
        drop(busy);
        assert!(table.open(address(3)).is_some());
    }

    #[tokio::test]
    async fn one_whose_answer_nobody_takes_makes_room_until_it_is_taken() {
        let table = table(2, 2);
        let (read, unread) = (table.open(address(1)).unwrap(), table.open(address(1)).unwrap());
        let busy = (read.begin_request(), unread.begin_request());
        for slot in [&read, &unread] {
            slot.set_stalled(true);
        }
        read.set_stalled(false);
        let newest = table.open(address(1)).unwrap();
        assert!(is_evicted(&unread).await && !is_evicted(&read).await);
        let _at_work = newest.begin_request();
        assert!(table.open(address(1)).is_none());
        drop((busy, read, unread));
        assert!(table.state.lock().idle.is_empty());
    }

    #[tokio::test]
    async fn a_network_of_the_newer_addresses_counts_as_one() {
        let table = table(4, 2);
        let open = |text: &str| table.open(text.parse().unwrap()).unwrap();
        let slots: Vec<_> = (0..3).map(|last| open(&format!("2001:db8:1:2::{last}"))).collect();
        let _other = open("2001:db8:1:3::1");
        assert!(is_evicted(&slots[0]).await && !is_evicted(&slots[1]).await);
    }

    #[tokio::test]
    async fn one_address_takes_no_room_from_another() {
        let table = table(4, 2);
        let other = table.open(address(2)).unwrap();
        let slots: Vec<_> = (0..5).map(|_| table.open(address(1)).unwrap()).collect();
        assert!(!is_evicted(&other).await);
        assert!(is_evicted(&slots[0]).await && is_evicted(&slots[2]).await);
        assert!(!is_evicted(&slots[3]).await && !is_evicted(&slots[4]).await);
    }

    #[tokio::test]
    async fn nothing_is_left_of_what_is_closed() {
        let table = table(4, 2);
        let slots: Vec<_> = (0..5).map(|_| table.open(address(1)).unwrap()).collect();
        let busy = slots[4].begin_request();
        assert!(table.evict_idlest());
        assert!(!table.evict_idlest());
        drop((slots, busy));
        let state = table.state.lock();
        assert!(state.open.is_empty() && state.idle.is_empty() && state.by_address.is_empty());
    }
}
