//! Host names and name resolution of a pod.

use super::metadata::name;
use super::names::{self, Complaint};
use crate::model::read::report::{Path, Report};
use crate::model::read::tree::Node;

/// Source: `MaxDNSNameservers`, `MaxDNSSearchPaths`, `MaxDNSSearchListChars`.
const NAMESERVERS: usize = 3;
const SEARCHES: usize = 32;
const SEARCH_CHARACTERS: usize = 2048;

pub fn check(spec: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    name(spec, "hostname", names::label, path, report);
    name(spec, "subdomain", names::label, path, report);
    let aliases = path.field("hostAliases");
    for (index, alias) in spec.list("hostAliases").iter().enumerate() {
        let path = aliases.item(index);
        name(alias, "ip", ip, &path, report);
        let names_at = path.field("hostnames");
        for (index, host) in alias.list("hostnames").iter().enumerate() {
            text(host, names::subdomain, &names_at.item(index), report);
        }
    }
    resolver(spec, path, report);
}

fn resolver(spec: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let config_path = path.field("dnsConfig");
    let config = spec.get("dnsConfig");
    let servers = config.map_or(&[][..], |config| config.list("nameservers"));
    if spec.text_of("dnsPolicy") == Some("None")
        && servers.is_empty()
        && let Some(policy) = spec.get("dnsPolicy")
    {
        let message = "spec.dnsPolicy None needs at least one entry in spec.dnsConfig.nameservers";
        report.error(policy.mark, path.field("dnsPolicy"), message, "dnsConfig: {nameservers: [9.9.9.9]}");
    }
    let Some(config) = config else { return };
    let servers_path = config_path.field("nameservers");
    for (index, server) in servers.iter().enumerate() {
        text(server, ip, &servers_path.item(index), report);
    }
    if let Some(extra) = servers.get(NAMESERVERS) {
        let message = format!("{servers_path} has {} entries, at most {NAMESERVERS}", servers.len());
        report.error(
            extra.mark,
            servers_path,
            message,
            "resolvers ask the first three only: remove the rest",
        );
    }
    let searches = config.list("searches");
    let searches_path = config_path.field("searches");
    for (index, domain) in searches.iter().enumerate() {
        text(domain, search, &searches_path.item(index), report);
    }
    let characters: usize = searches.iter().filter_map(Node::as_text).map(|domain| domain.len() + 1).sum();
    if searches.len() > SEARCHES || characters > SEARCH_CHARACTERS + 1 {
        let message = format!(
            "{searches_path} has {} entries, at most {SEARCHES} and {SEARCH_CHARACTERS} characters",
            searches.len()
        );
        report.error(config.mark, searches_path, message, "shorten the list");
    }
    let options = config_path.field("options");
    for (index, option) in config.list("options").iter().enumerate() {
        if option.text_of("name").is_none() {
            let path = options.item(index);
            report.error(option.mark, path.field("name"), format!("{path}.name is required"), "add name: …");
        }
    }
}

/// `.` alone is allowed, and a dot at the end.
fn search(text: &str) -> Option<Complaint> {
    let bare = text.strip_suffix('.').unwrap_or(text);
    if text == "." { None } else { names::subdomain(&bare.replace('_', "-")) }
}

pub fn ip(text: &str) -> Option<Complaint> {
    let error = text.parse::<std::net::IpAddr>().is_err();
    error.then(|| Complaint { what: "is not an IP address".into(), fix: "127.0.0.1, or ::1".into() })
}

fn text(node: &Node<'_>, grammar: fn(&str) -> Option<Complaint>, path: &Path<'_>, report: &mut Report<'_>) {
    if let Some((text, bad)) = node.as_text().and_then(|text| Some((text, grammar(text)?))) {
        report.error(node.mark, path, format!("{path} '{text}' {}", bad.what), &bad.fix);
    }
}
