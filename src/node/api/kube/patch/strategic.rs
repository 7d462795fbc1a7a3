//! Strategic merge patch: a merge patch that knows the lists of a pod.
//!
//! Directives: `$patch: delete | replace`, `$setElementOrder/<list>`, `$deleteFromPrimitiveList/<list>`,
//! `$retainKeys`. Source: apimachinery's `strategicpatch`.

use serde_json::{Map, Value};

use super::keys::{self, List, protocol};

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
        target.retain(|name, _| keep.iter().any(|kept| kept == name));
    }
    for (name, change) in patch.iter().filter(|(name, _)| !name.starts_with('$')) {
        let order = patch.get(&format!("{ORDER}{name}"));
        field(target, name, change, order)?;
    }
    // A list that is only taken from, or only put into order, is named by its directive alone.
    for (directive, value) in patch {
        if let Some(name) = directive.strip_prefix(TAKE_OUT) {
            let words = value.as_array().ok_or_else(|| format!("{directive} is a list"))?;
            if let Some(Value::Array(items)) = target.get_mut(name) {
                items.retain(|item| !words.contains(item));
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
            let new: Vec<Value> = changes.iter().filter(|change| !items.contains(change)).cloned().collect();
            items.extend(new);
        }
        // `- $patch: replace` beside the items: they are all there is.
        List::By(_) | List::Ports if changes.iter().any(replaces) => {
            let rest = changes.iter().filter(|change| !(replaces(change) && only_directives(change)));
            return rest.map(fresh).collect();
        }
        List::By(_) | List::Ports => {
            for change in changes {
                // Without an order, what is named is all that is known of the numbers in the end.
                item(kind, &mut items, change, order, order.unwrap_or(changes))?;
            }
        }
    }
    if let Some(order) = order {
        sort(&mut items, order, kind);
    }
    Ok(items)
}

/// Changes, adds or deletes one item.
fn item(
    kind: List,
    items: &mut Vec<Value>,
    change: &Value,
    order: Option<&[Value]>,
    end: &[Value],
) -> Result<(), String> {
    let key = kind.key().unwrap_or_default();
    let fields = change.as_object().ok_or("an item of this list is an object")?;
    if fields.get(key).is_none_or(Value::is_null) {
        return Err(format!("an item has no {key}, by which the items of this list are told apart"));
    }
    if kind == List::Ports && is_unclear(items, fields, order) {
        let number = &fields[key];
        return Err(format!(
            "{key} {number} is there more than once, and this patch does not say which is meant: use kubectl replace \
             or kubectl apply --server-side"
        ));
    }
    let at = find(kind, items, change, end);
    if is(fields, "delete") {
        // A port that is deleted by its number alone is every port of that number.
        let by_number = kind == List::Ports && fields.get("protocol").is_none();
        items.retain(|item| {
            let same = if by_number { item.get(key) == fields.get(key) } else { kind.same(item, change) };
            !same
        });
        return Ok(());
    }
    match at.and_then(|at| items.get_mut(at)).and_then(Value::as_object_mut) {
        Some(item) => merge(item, fields),
        None => {
            items.push(fresh(change)?);
            Ok(())
        }
    }
}

/// Clients tell ports apart by their number alone, so of two with one number (DNS on TCP and UDP) `kubectl apply`
/// often names the wrong one, or none (kubernetes/kubernetes#39188). Kubernetes then changes what nobody asked for.
fn is_unclear(items: &[Value], change: &Map<String, Value>, order: Option<&[Value]>) -> bool {
    let number = change.get("containerPort");
    let has_number = |item: &&Value| item.get("containerPort") == number;
    let stays = order.is_some_and(|order| order.iter().any(|item| has_number(&item)));
    let says_which = if is(change, "delete") { !stays } else { change.contains_key("protocol") };
    !says_which && items.iter().filter(has_number).count() > 1
}

/// The item that a change is about.
///
/// Clients tell ports apart by their number alone. So a change of protocol comes as an item with the old number
/// and the new protocol, and looks like one more port; how many of the number there are in `end` tells which of
/// the two it is.
fn find(kind: List, items: &[Value], change: &Value, end: &[Value]) -> Option<usize> {
    let exact = items.iter().position(|item| kind.same(item, change));
    if kind != List::Ports || (exact.is_some() && change.get("protocol").is_some()) {
        return exact;
    }
    let number = change.get("containerPort");
    let of_number = |items: &[Value]| -> Vec<usize> {
        let same = |(at, item): (usize, &Value)| (item.get("containerPort") == number).then_some(at);
        items.iter().enumerate().filter_map(same).collect()
    };
    let (there, wanted) = (of_number(items), of_number(end).len());
    match there[..] {
        [only] if wanted <= 1 || change.get("protocol").is_none() => Some(only),
        _ => items
            .iter()
            .position(|item| item.get("containerPort") == number && protocol(item) == protocol(change)),
    }
}

/// A new value from a patch: no directive may stay in it.
fn fresh(change: &Value) -> Result<Value, String> {
    match change {
        Value::Object(change) => {
            let mut object = Map::new();
            let bare = change.iter().filter(|(name, _)| *name != PATCH && *name != RETAIN).map(cloned);
            merge(&mut object, &bare.collect())?;
            Ok(object.into())
        }
        other => Ok(other.clone()),
    }
}

/// Puts the items that `order` names into its order; each of the others stays behind the one it stood behind.
fn sort(items: &mut Vec<Value>, order: &[Value], kind: List) {
    let place = |item: &Value| {
        order.iter().position(|wanted| kind.same(wanted, item)).or_else(|| {
            // Of ports an order gives the number alone.
            let number = (kind == List::Ports).then(|| item.get("containerPort")).flatten()?;
            order.iter().position(|wanted| wanted.get("containerPort") == Some(number))
        })
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
