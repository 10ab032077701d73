//! Where a request comes from, as far as the connection and its headers tell: the two ends of the
//! connection, the name by which we were called, and the web site that made a browser call.
//!
//! Pure: it reads a request and knows no store. Headers that proxies add are believed in nothing but
//! how those behind one of them share its places.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};

use super::caller_process::CallerProcess;
use super::permits::CallerKey;
use super::route_class::RouteClass;
use crate::problem::{ApiProblem, ApiResult};

/// The two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionAddress {
    /// Who called.
    pub peer: SocketAddr,
    /// The address of ours that they reached.
    pub local: SocketAddr,
}

/// A name by which the server may be called, beside its own addresses; with a port, only with
/// that one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    name: String,
    port: Option<u16>,
}

/// The text is no name of a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no name of a host, such as `recto.example.org` or `localhost:8080`")]
pub struct ParseHostError(String);

/// How a request came here.
#[derive(Debug, Clone)]
pub(crate) struct RequestArrival {
    address: ConnectionAddress,
    standing: HostStanding,
    pub(super) origin: RequestOrigin,
    forwarding: Forwarding,
    caller: CallerProcess,
}

/// Whether a proxy has passed a request on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forwarding {
    Direct,
    /// By a proxy that says from which address it was called, or does not.
    Proxied(Option<IpAddr>),
}

/// What the name is by which we were called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HostStanding {
    /// A name of this machine that no name server can change.
    Loopback,
    /// The address itself that the connection reached.
    Address,
    /// A name that the config allows.
    Named,
}

/// The web site on whose behalf a browser sent a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestOrigin {
    /// None is named: no browser, or one that only looks.
    Absent,
    /// A page of ours.
    Own,
    /// The browser does not say.
    Opaque,
}

/// Headers that stand in what a proxy passes on.
const FORWARDED: [&str; 6] =
    ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"];

/// Of these, those that can have the address which called the proxy.
const FORWARDED_FOR: [&str; 2] = ["x-forwarded-for", "x-real-ip"];

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_DESTINATION: HeaderName = HeaderName::from_static("sec-fetch-dest");

impl RequestArrival {
    /// Reads how a request came here, and refuses one for another host or from another site.
    pub(super) fn read(request: &Request, allowed: &[AllowedHost]) -> ApiResult<Self> {
        let address = request.extensions().get::<ConnectionAddress>().copied();
        let address = address.ok_or_else(|| no_host("a request without a connection"))?;
        let host = requested_host(request)?;
        let standing = host_standing(&host, address.local, allowed)
            .ok_or_else(|| wrong_host(&format!("`{host}` is not a name of this server")))?;
        let origin = read_origin(request.headers(), &host, standing)?;
        let forwarding = read_forwarding(request.headers());
        let caller = request.extensions().get::<CallerProcess>().cloned().unwrap_or_default();
        Ok(RequestArrival { address, standing, origin, forwarding, caller })
    }

    /// Refuses what another site made the browser send, but for the opening of a page.
    pub(super) fn check_site(
        &self,
        method: &Method,
        class: RouteClass,
        headers: &HeaderMap,
    ) -> ApiResult<()> {
        let is = |name: &HeaderName, value: &str| {
            headers.get(name).is_some_and(|sent| sent.as_bytes() == value.as_bytes())
        };
        let is_own = !headers.contains_key(FETCH_SITE)
            || is(&FETCH_SITE, "same-origin")
            || is(&FETCH_SITE, "none");
        let looks = matches!(*method, Method::GET | Method::HEAD);
        let opens_page = looks
            && matches!(class, RouteClass::Page | RouteClass::Public | RouteClass::Open)
            && is(&FETCH_MODE, "navigate")
            && is(&FETCH_DESTINATION, "document");
        match is_own || opens_page {
            true => Ok(()),
            false => Err(cross_site("another web site sent this request")),
        }
    }

    /// Who called.
    fn peer(&self) -> IpAddr {
        self.address.peer.ip().to_canonical()
    }

    /// Whom requests and guesses of somebody are counted for who is not known. One who calls us
    /// directly and claims to be a proxy gains nothing: all behind one have a bound, too.
    pub(super) fn stranger_key(&self) -> CallerKey {
        let peer = household(self.peer());
        match self.forwarding {
            Forwarding::Direct => CallerKey::Stranger(peer),
            Forwarding::Proxied(client) => CallerKey::Forwarded(peer, client.map(household)),
        }
    }

    /// The port of ours that they reached.
    pub(super) fn port(&self) -> u16 {
        self.address.local.port()
    }

    /// Whether the request came from this machine, as far as can be told.
    fn is_local(&self) -> bool {
        self.peer().is_loopback()
            && self.standing == HostStanding::Loopback
            && self.forwarding == Forwarding::Direct
    }

    /// Whether a person at this machine called, with a program of their own and not with what Recto
    /// confines.
    pub(super) async fn is_from_local_person(&self) -> bool {
        self.is_local() && !self.caller.may_be_program(self.address).await
    }

    /// Whether the browser reached us by TLS, which then somebody in front of us speaks: only
    /// there, and on loopback, it says from which site a request is.
    pub(super) fn is_encrypted(&self, headers: &HeaderMap) -> bool {
        self.standing != HostStanding::Loopback && headers.contains_key(FETCH_SITE)
    }
}

/// Whether a request has any of the marks that browsers put on all that a page makes them send.
pub(super) fn is_from_browser(headers: &HeaderMap) -> bool {
    let agent = headers.get(header::USER_AGENT).map(|agent| agent.as_bytes());
    [header::ORIGIN, FETCH_SITE, header::COOKIE, header::REFERER]
        .iter()
        .any(|name| headers.contains_key(name))
        || agent.is_some_and(|agent| agent.starts_with(b"Mozilla/"))
}

/// Whether a browser takes what is sent back for what we sent: on loopback, and by TLS, which
/// somebody in front of us speaks. There alone it says from which site a request is.
pub(super) fn is_trustworthy(request: &Request) -> bool {
    let headers = request.headers();
    let is_https = headers.get("x-forwarded-proto").is_some_and(|proto| proto == "https");
    is_https
        || headers.contains_key(FETCH_SITE)
        || requested_host(request).is_ok_and(|host| is_loopback(&host))
}

impl FromStr for AllowedHost {
    type Err = ParseHostError;

    fn from_str(text: &str) -> Result<Self, ParseHostError> {
        let host = parse_authority(text).ok_or_else(|| ParseHostError(text.to_owned()))?;
        Ok(AllowedHost { name: host.host().to_ascii_lowercase(), port: host.port_u16() })
    }
}

impl AllowedHost {
    fn fits(&self, host: &Authority) -> bool {
        host.host().eq_ignore_ascii_case(&self.name)
            && self.port.is_none_or(|port| host.port_u16() == Some(port))
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// The name by which we were called. One that is said twice, differently, is none.
fn requested_host(request: &Request) -> ApiResult<Authority> {
    let mut named = request.headers().get_all(header::HOST).iter();
    let (first, second) = (named.next(), named.next());
    let text = first.and_then(|host| host.to_str().ok()).filter(|_| second.is_none());
    let host = text
        .and_then(parse_authority)
        .ok_or_else(|| no_host("the request does not say which host it is for"))?;
    match request.uri().authority() {
        Some(target) if *target != host => Err(no_host("the request names two hosts that differ")),
        _ => Ok(host),
    }
}

/// A host and perhaps a port, without a user, in the one way in which each is written: other
/// programs in front of us may read `:+80`, `:080` or `[127.0.0.1]` otherwise than we do.
fn parse_authority(text: &str) -> Option<Authority> {
    let parsed: Authority = text.parse().ok()?;
    let host = parsed.host();
    let is_host = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty(),
    };
    let is_port = match text.strip_prefix(host)?.strip_prefix(':') {
        Some(port) => port.parse::<u16>().is_ok_and(|number| number.to_string() == port),
        None => host.len() == text.len(),
    };
    (is_host && is_port && !text.contains('@')).then_some(parsed)
}

fn host_standing(
    host: &Authority,
    local: SocketAddr,
    allowed: &[AllowedHost],
) -> Option<HostStanding> {
    let address = host_address(host.host());
    let is_listed = allowed.iter().any(|allowed| allowed.fits(host));
    let is_our_port = host.port_u16().unwrap_or(80) == local.port();
    match (is_loopback(host), is_our_port) {
        (true, true) => Some(HostStanding::Loopback),
        (true, false) => is_listed.then_some(HostStanding::Loopback),
        // Nobody can let an address point somewhere else.
        (false, true) if address == Some(local.ip().to_canonical()) => Some(HostStanding::Address),
        (false, _) => is_listed.then_some(HostStanding::Named),
    }
}

/// Whether a host is this machine, whatever name servers say.
fn is_loopback(host: &Authority) -> bool {
    host.host().eq_ignore_ascii_case("localhost")
        || host_address(host.host()).is_some_and(|address| address.is_loopback())
}

/// The address that a host is, if it is no name.
fn host_address(host: &str) -> Option<IpAddr> {
    let address = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(host) => host.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
    };
    address.map(|address| address.to_canonical())
}

/// Whether a proxy has passed a request on, and for whom: the address that it was called from
/// itself stands last.
fn read_forwarding(headers: &HeaderMap) -> Forwarding {
    if !FORWARDED.iter().any(|name| headers.contains_key(*name)) {
        return Forwarding::Direct;
    }
    let last_address = |name: &&str| {
        let value = headers.get_all(*name).iter().next_back()?.to_str().ok()?;
        let address: IpAddr = value.rsplit(',').next()?.trim().parse().ok()?;
        Some(address.to_canonical())
    };
    Forwarding::Proxied(FORWARDED_FOR.iter().find_map(last_address))
}

/// The address that somebody counts for: of the newer ones, one household has very many.
pub(crate) fn household(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => {
            let network = v6.to_bits() >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
    }
}

fn read_origin(
    headers: &HeaderMap,
    host: &Authority,
    standing: HostStanding,
) -> ApiResult<RequestOrigin> {
    let mut named = headers.get_all(header::ORIGIN).iter();
    let Some(origin) = named.next() else { return Ok(RequestOrigin::Absent) };
    let origin = origin.to_str().unwrap_or_default();
    if named.next().is_some() {
        return Err(cross_site("the request names two origins"));
    }
    if origin == "null" {
        return Ok(RequestOrigin::Opaque);
    }
    let site = match (origin.strip_prefix("http://"), origin.strip_prefix("https://")) {
        (Some(site), _) => Some(site),
        // Somebody in front of us speaks TLS, under a name that the config knows.
        (None, Some(site)) => Some(site).filter(|_| standing == HostStanding::Named),
        (None, None) => None,
    };
    match site.and_then(parse_authority) {
        Some(site) if site == *host => Ok(RequestOrigin::Own),
        _ => Err(cross_site("another web site sent this request")),
    }
}

/// The request is for a host that this server does not answer for.
fn wrong_host(what: &str) -> ApiProblem {
    ApiProblem::new(StatusCode::MISDIRECTED_REQUEST, "wrong_host", what)
        .hint("call the server by its address, or add the name to `server.hosts` in the config")
}

/// The request does not say which host it is for.
fn no_host(what: &str) -> ApiProblem {
    ApiProblem::new(StatusCode::BAD_REQUEST, "bad_host", what)
        .hint("send one `Host`, with the name or address of the server and its port")
}

fn cross_site(what: &str) -> ApiProblem {
    ApiProblem::new(StatusCode::FORBIDDEN, "cross_site", what)
        .hint("only Recto's own pages, and programs with a token, can send this")
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use expect_test::expect;

    use super::*;

    fn request(headers: &[(&str, &str)], peer: &str, local: &str) -> Request {
        let address =
            ConnectionAddress { peer: peer.parse().unwrap(), local: local.parse().unwrap() };
        let mut request = Request::builder().uri("/").extension(address);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Body::empty()).unwrap()
    }

    fn describe(headers: &[(&str, &str)], peer: &str, local: &str, hosts: &[&str]) -> String {
        let hosts: Vec<AllowedHost> = hosts.iter().map(|host| host.parse().unwrap()).collect();
        match RequestArrival::read(&request(headers, peer, local), &hosts) {
            Ok(arrival) if arrival.is_local() => format!("local, {:?}", arrival.origin),
            Ok(arrival) => format!("{:?}, {:?}", arrival.standing, arrival.origin),
            Err(problem) => problem.code.into(),
        }
    }

    #[test]
    fn who_is_called_by_which_name() {
        let (home, away) = (("127.0.0.1:5", "127.0.0.1:7411"), ("10.0.0.9:5", "10.0.0.1:7411"));
        let mapped = ("[::ffff:127.0.0.1]:5", "[::ffff:127.0.0.1]:7411");
        let hosts = ["recto.example.org", "localhost:8080"];
        let mut table = String::new();
        for ((peer, local), host) in [
            (home, "127.0.0.1:7411"),
            (home, "LOCALHOST:7411"),
            (home, "[::1]:7411"),
            (mapped, "127.9.9.9:7411"),
            (home, "localhost"),
            (home, "localhost:8080"),
            (home, "localhost:9000"),
            (home, "evil.example:7411"),
            (home, "recto.example.org"),
            (home, "127.0.0.1.evil.example:7411"),
            (home, "user@127.0.0.1:7411"),
            (home, "127.0.0.1:99999"),
            (home, "127.0.0.1:+7411"),
            (home, "127.0.0.1:07411"),
            (home, "127.0.0.1:"),
            (home, "[127.0.0.1]:7411"),
            (home, "[::1:7411"),
            (home, ""),
            (away, "127.0.0.1:7411"),
            (away, "10.0.0.1:7411"),
            (away, "10.0.0.2:7411"),
            (away, "RECTO.example.org:443"),
        ] {
            let described = describe(&[("host", host)], peer, local, &hosts);
            table.push_str(&format!("{peer} as {host}: {described}\n"));
        }
        expect![[r#"
            127.0.0.1:5 as 127.0.0.1:7411: local, Absent
            127.0.0.1:5 as LOCALHOST:7411: local, Absent
            127.0.0.1:5 as [::1]:7411: local, Absent
            [::ffff:127.0.0.1]:5 as 127.9.9.9:7411: local, Absent
            127.0.0.1:5 as localhost: wrong_host
            127.0.0.1:5 as localhost:8080: local, Absent
            127.0.0.1:5 as localhost:9000: wrong_host
            127.0.0.1:5 as evil.example:7411: wrong_host
            127.0.0.1:5 as recto.example.org: Named, Absent
            127.0.0.1:5 as 127.0.0.1.evil.example:7411: wrong_host
            127.0.0.1:5 as user@127.0.0.1:7411: bad_host
            127.0.0.1:5 as 127.0.0.1:99999: bad_host
            127.0.0.1:5 as 127.0.0.1:+7411: bad_host
            127.0.0.1:5 as 127.0.0.1:07411: bad_host
            127.0.0.1:5 as 127.0.0.1:: bad_host
            127.0.0.1:5 as [127.0.0.1]:7411: bad_host
            127.0.0.1:5 as [::1:7411: bad_host
            127.0.0.1:5 as : bad_host
            10.0.0.9:5 as 127.0.0.1:7411: Loopback, Absent
            10.0.0.9:5 as 10.0.0.1:7411: Address, Absent
            10.0.0.9:5 as 10.0.0.2:7411: wrong_host
            10.0.0.9:5 as RECTO.example.org:443: Named, Absent
        "#]]
        .assert_eq(&table);
    }

    #[test]
    fn the_site_is_ours_or_nobodys() {
        let mut table = String::new();
        for (host, origin) in [
            ("127.0.0.1:7411", "http://127.0.0.1:7411"),
            ("127.0.0.1:7411", "http://localhost:7411"),
            ("127.0.0.1:7411", "https://127.0.0.1:7411"),
            ("127.0.0.1:7411", "http://127.0.0.1:3000"),
            ("127.0.0.1:7411", "null"),
            ("127.0.0.1:7411", "http://evil.example"),
            ("127.0.0.1:7411", "file://"),
            ("recto.example.org", "https://recto.example.org"),
            ("recto.example.org", "https://other.example.org"),
        ] {
            let headers = [("host", host), ("origin", origin)];
            let hosts = ["recto.example.org"];
            let described = describe(&headers, "127.0.0.1:5", "127.0.0.1:7411", &hosts);
            table.push_str(&format!("{host} for {origin}: {described}\n"));
        }
        expect![[r#"
            127.0.0.1:7411 for http://127.0.0.1:7411: local, Own
            127.0.0.1:7411 for http://localhost:7411: cross_site
            127.0.0.1:7411 for https://127.0.0.1:7411: cross_site
            127.0.0.1:7411 for http://127.0.0.1:3000: cross_site
            127.0.0.1:7411 for null: local, Opaque
            127.0.0.1:7411 for http://evil.example: cross_site
            127.0.0.1:7411 for file://: cross_site
            recto.example.org for https://recto.example.org: Named, Own
            recto.example.org for https://other.example.org: cross_site
        "#]]
        .assert_eq(&table);
    }

    #[test]
    fn what_a_proxy_passes_on_is_not_local() {
        for name in FORWARDED {
            let headers = [("host", "127.0.0.1:7411"), (name, "127.0.0.1")];
            let described = describe(&headers, "127.0.0.1:5", "127.0.0.1:7411", &[]);
            assert_eq!(described, "Loopback, Absent", "{name}");
        }
    }

    #[test]
    fn strangers_are_counted_by_household_and_behind_a_proxy_apart() {
        let key = |peer: &str, headers: &[(&str, &str)]| {
            let headers = [&[("host", "127.0.0.1:7411")], headers].concat();
            let request = request(&headers, peer, "127.0.0.1:7411");
            RequestArrival::read(&request, &[]).unwrap().stranger_key()
        };
        let (one, other) = ("[2001:db8:1:2::7]:5", "[2001:db8:1:2:ffff::9]:6");
        assert_eq!(key(one, &[]), key(other, &[]));
        assert_ne!(key(one, &[]), key("[2001:db8:1:3::7]:5", &[]));
        let behind = |value| key("127.0.0.1:5", &[("x-forwarded-for", value)]);
        // What stands before the last address, anybody can have written.
        assert_eq!(behind("1.2.3.4, 10.0.0.1"), behind("5.6.7.8, 10.0.0.1"));
        assert_ne!(behind("10.0.0.1"), behind("10.0.0.2"));
        assert_ne!(behind("unknown"), key("127.0.0.1:5", &[]));
    }

    #[test]
    fn hosts_are_names_with_a_port_or_without() {
        for host in ["recto.example.org", "localhost:8080", "[::1]:80"] {
            assert_eq!(host.parse::<AllowedHost>().unwrap().to_string(), host);
        }
        for bad in
            ["", "https://recto.example.org", "a b", "me@host", "host:port", "host/path", "h:080"]
        {
            assert!(bad.parse::<AllowedHost>().is_err(), "{bad}");
        }
    }
}
