//! The query of a request, decoded.

/// `?a=1&b=%20`, in the order written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    pub fn parse(text: Option<&str>) -> Self {
        let pairs = text.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
        Self(pairs.collect())
    }

    /// The first value of that name; an empty one is the same as none, as Kubernetes has it.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| given == name).map(|(_, value)| &**value).filter(|v| !v.is_empty())
    }

    /// Every value of that name, empty ones too.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(given, _)| given == name).map(|(_, value)| &**value)
    }

    /// Given, and neither `false` nor `0`: as apimachinery's `Convert_Slice_string_To_bool` has it.
    pub fn flag(&self, name: &str) -> bool {
        let given = self.0.iter().find(|(given, _)| given == name);
        given.is_some_and(|(_, value)| !matches!(&*value.to_lowercase(), "false" | "0"))
    }

    /// The same query with one more value, which comes before others of its name.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.0.insert(0, (name.to_owned(), value.to_owned()));
        self
    }

    /// # Errors
    /// The sentence to answer with.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        let parse = |text: &str| {
            text.parse().map_err(|_| format!("query parameter {name}: '{text}' is not a number it can have"))
        };
        self.get(name).map(parse).transpose()
    }
}

/// `application/x-www-form-urlencoded`; what is no escape stays as it is.
pub fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = |at: usize| after.get(at).and_then(|digit| char::from(*digit).to_digit(16));
        rest = after;
        match (first, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                rest = &after[2..];
            }
            (b'+', ..) => bytes.push(b' '),
            _ => bytes.push(first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_decoded_and_an_empty_value_is_none() {
        let query = Query::parse(Some("a=%3D%2c+x&b=&watch&c=1&c=2&d=100%&n=ten&f=False&g=0"));
        assert_eq!(query.get("a"), Some("=, x"));
        assert_eq!((query.get("b"), query.get("c"), query.get("d")), (None, Some("1"), Some("100%")));
        assert!(
            query.flag("watch") && query.flag("c") && !["e", "f", "g"].iter().any(|name| query.flag(name))
        );
        assert_eq!(query.number::<u32>("c"), Ok(Some(1)));
        assert!(query.number::<u32>("n").unwrap_err().contains("'ten'"));
        assert_eq!(Query::parse(None), Query::default());
    }
}
