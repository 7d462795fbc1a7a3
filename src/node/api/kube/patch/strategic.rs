//! Strategic merge patch: a merge patch that knows the lists of a pod.
//!
//! Directives: `$patch: delete | replace`, `$setElementOrder/<list>`, `$deleteFromPrimitiveList/<list>`,
//! `$retainKeys`. Source: apimachinery's `strategicpatch`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::keys::{self, Identity, List};

mod items;

use items::Items;

const PATCH: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const ORDER: &str = "$setElementOrder/";
const TAKE_OUT: &str = "$deleteFromPrimitiveList/";

/// Changes an object.
///
/// # Errors
/// A sentence that names what is wrong with the patch.
pub fn merge(target: &mut Map<String, Value>, patch: &Map<String, Value>) -> Result<(), String> {
    match patch.get(PATCH).map(|directive| directive.as_str().unwrap_or_default()) {
        None => {}
        Some("replace") => {
            *target = patch.iter().filter(|(name, _)| !name.starts_with('$')).map(cloned).collect();
            return Ok(());
        }
        Some("delete") => {
            target.clear();
            return Ok(());
        }
        Some("merge") => {}
        Some(other) => return Err(format!("$patch: '{other}' is not one of delete, merge, replace")),
    }
    if let Some(keep) = patch.get(RETAIN) {
        let keep = keep.as_array().ok_or("$retainKeys is a list of names")?;
        let keep: BTreeSet<&str> = keep.iter().filter_map(Value::as_str).collect();
        target.retain(|name, _| keep.contains(name.as_str()));
    }
    fields(target, patch)
}

/// Changes the fields, whatever is to become of the object itself.
fn fields(target: &mut Map<String, Value>, patch: &Map<String, Value>) -> Result<(), String> {
    for (name, change) in patch.iter().filter(|(name, _)| !name.starts_with('$')) {
        let order = patch.get(&format!("{ORDER}{name}"));
        field(target, name, change, order)?;
    }
    // A list that is only taken from, or only put into order, is named by its directive alone.
    for (directive, value) in patch {
        if let Some(name) = directive.strip_prefix(TAKE_OUT) {
            let words = value.as_array().ok_or_else(|| format!("{directive} is a list"))?;
            if let Some(Value::Array(items)) = target.get_mut(name) {
                let words: BTreeSet<String> = words.iter().map(Value::to_string).collect();
                items.retain(|item| !words.contains(&item.to_string()));
            }
        } else if let Some(name) = directive.strip_prefix(ORDER) {
            let order = value.as_array().ok_or_else(|| format!("{directive} is a list"))?;
            if let Some(Value::Array(items)) = target.get_mut(name)
                && !patch.contains_key(name)
            {
                sort(items, order, keys::list(name));
            }
        }
    }
    Ok(())
}

fn field(
    target: &mut Map<String, Value>,
    name: &str,
    change: &Value,
    order: Option<&Value>,
) -> Result<(), String> {
    match change {
        Value::Null => {
            target.remove(name);
        }
        Value::Object(change) => {
            if is(change, "delete") {
                target.remove(name);
                return Ok(());
            }
            let value = target.entry(name).or_insert(Value::Null);
            if !value.is_object() {
                *value = Value::Object(Map::new());
            }
            if let Value::Object(value) = value {
                merge(value, change)?;
            }
        }
        Value::Array(changes) => {
            let order = order.and_then(Value::as_array).map(Vec::as_slice);
            let before = match target.remove(name) {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            };
            let after = list(name, before, changes, order).map_err(|why| format!("{name}: {why}"))?;
            target.insert(name.to_owned(), after.into());
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            target.insert(name.to_owned(), change.clone());
        }
    }
    Ok(())
}

fn list(
    name: &str,
    mut items: Vec<Value>,
    changes: &[Value],
    order: Option<&[Value]>,
) -> Result<Vec<Value>, String> {
    let kind = keys::list(name);
    let replaces = |change: &Value| change.as_object().is_some_and(|change| is(change, "replace"));
    match kind {
        List::Whole => return changes.iter().map(fresh).collect(),
        List::Set => {
            let mut known: BTreeSet<String> = items.iter().map(Value::to_string).collect();
            items.extend(changes.iter().filter(|change| known.insert(change.to_string())).cloned());
        }
        // `- $patch: replace` beside the items: they are all there is.
        List::By(_) | List::Ports if changes.iter().any(replaces) => {
            let rest = changes.iter().filter(|change| !(replaces(change) && only_directives(change)));
            return rest.map(fresh).collect();
        }
        List::By(_) | List::Ports => {
            // Without an order, what is named is all that is known of the numbers in the end.
            let end = End::of(kind, order.unwrap_or(changes), order.is_some());
            let mut known = Items::new(kind, items);
            for change in changes {
                item(kind, &mut known, change, &end)?;
            }
            items = known.into_list();
        }
    }
    if let Some(order) = order {
        sort(&mut items, order, kind);
    }
    Ok(items)
}

/// How many items of each key there are in the end, as far as a patch tells.
struct End {
    of_key: BTreeMap<String, usize>,
    is_ordered: bool,
}

impl End {
    fn of(kind: List, items: &[Value], is_ordered: bool) -> Self {
        let mut of_key = BTreeMap::new();
        for identity in items.iter().filter_map(|item| kind.identity(item)) {
            *of_key.entry(identity.key).or_default() += 1;
        }
        Self { of_key, is_ordered }
    }

    fn wanted(&self, key: &str) -> usize {
        self.of_key.get(key).copied().unwrap_or(0)
    }
}

/// Changes, adds or deletes one item.
fn item(kind: List, items: &mut Items, change: &Value, end: &End) -> Result<(), String> {
    let key = kind.key().unwrap_or_default();
    let fields = change.as_object().ok_or("an item of this list is an object")?;
    let named = kind.identity(change).filter(|_| !fields[key].is_null());
    let named = named
        .ok_or_else(|| format!("an item has no {key}, by which the items of this list are told apart"))?;
    if kind == List::Ports && is_unclear(items, &named, fields, end) {
        return Err(format!(
            "{key} {} is there more than once, and this patch does not say which is meant: use kubectl replace or \
             kubectl apply --server-side",
            named.key
        ));
    }
    if is(fields, "delete") {
        // A port that is deleted by its number alone is every port of that number.
        if kind == List::Ports && fields.get("protocol").is_none() {
            items.remove_key(&named.key);
        } else {
            items.remove(&named);
        }
        return Ok(());
    }
    match find(kind, items, &named, fields, end) {
        Some(at) => items.change(at, |item| merge(item, fields)),
        None => {
            items.push(fresh(change)?);
            Ok(())
        }
    }
}

/// Clients tell ports apart by their number alone, so of two with one number (DNS on TCP and UDP) `kubectl apply`
/// often names the wrong one, or none (kubernetes/kubernetes#39188). Kubernetes then changes what nobody asked for.
fn is_unclear(items: &Items, named: &Identity, change: &Map<String, Value>, end: &End) -> bool {
    let stays = end.is_ordered && end.wanted(&named.key) > 0;
    let says_which = if is(change, "delete") { !stays } else { change.contains_key("protocol") };
    !says_which && items.of_key(&named.key).0 > 1
}

/// The item that a change is about.
///
/// Clients tell ports apart by their number alone. So a change of protocol comes as an item with the old number
/// and the new protocol, and looks like one more port; how many of the number there are in the end tells which of
/// the two it is.
fn find(
    kind: List,
    items: &Items,
    named: &Identity,
    change: &Map<String, Value>,
    end: &End,
) -> Option<usize> {
    let (exact, has_protocol) = (items.first(named), change.contains_key("protocol"));
    if kind != List::Ports || (exact.is_some() && has_protocol) {
        return exact;
    }
    match items.of_key(&named.key) {
        (1, only) if end.wanted(&named.key) <= 1 || !has_protocol => only,
        _ => exact,
    }
}

/// A new value from a patch: no directive may stay in it.
fn fresh(change: &Value) -> Result<Value, String> {
    match change {
        Value::Object(change) => {
            let mut object = Map::new();
            fields(&mut object, change)?;
            Ok(object.into())
        }
        other => Ok(other.clone()),
    }
}

/// Puts the items that `order` names into its order; each of the others stays behind the one it stood behind.
fn sort(items: &mut Vec<Value>, order: &[Value], kind: List) {
    let (mut exact, mut of_key) = (BTreeMap::new(), BTreeMap::new());
    for (at, wanted) in order.iter().enumerate() {
        let Some(identity) = kind.identity(wanted) else { continue };
        of_key.entry(identity.key.clone()).or_insert(at);
        exact.entry(identity).or_insert(at);
    }
    let place = |item: &Value| {
        let identity = kind.identity(item)?;
        // Of ports an order gives the number alone.
        let by_number = || of_key.get(&identity.key).filter(|_| kind == List::Ports);
        exact.get(&identity).or_else(by_number).copied()
    };
    let mut named: Vec<(usize, Vec<Value>)> = Vec::new();
    let mut first: Vec<Value> = Vec::new();
    for item in std::mem::take(items) {
        match (place(&item), named.last_mut()) {
            (Some(place), _) => named.push((place, vec![item])),
            (None, Some((_, followers))) => followers.push(item),
            (None, None) => first.push(item),
        }
    }
    named.sort_by_key(|(place, _)| *place);
    items.extend(first);
    items.extend(named.into_iter().flat_map(|(_, items)| items));
}

fn is(patch: &Map<String, Value>, directive: &str) -> bool {
    patch.get(PATCH).and_then(Value::as_str) == Some(directive)
}

fn only_directives(change: &Value) -> bool {
    change.as_object().is_some_and(|change| change.keys().all(|name| name.starts_with('$')))
}

fn cloned((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

#[cfg(test)]
mod tests;
