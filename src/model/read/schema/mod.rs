//! The Kubernetes Pod API as data: every field, its type, and what this agent does with it.
//!
//! One table serves reading, diagnosing and documentation. `tests/fields.rs` proves with k8s-openapi that no field of
//! the API is missing here, so an unknown field really is one.

pub mod container;
pub mod legacy;
pub mod metadata;
mod nearest;
pub mod other;
pub mod pod;
pub mod probe;
pub mod scheduling;
pub mod security;
pub mod storage;
pub mod volume;
pub mod walk;

pub use nearest::nearest;

/// An object: its name in the API and its fields.
#[derive(Debug)]
pub struct Shape {
    pub name: &'static str,
    pub fields: &'static [Field],
}

#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub required: bool,
    pub standing: Standing,
    /// Values that ask for nothing beyond what happens anyway; with one of them the standing is not spoken of.
    pub plain: &'static [&'static str],
}

/// What a value must look like.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Text,
    Bool,
    /// A whole number from … to.
    Int(i64, i64),
    /// Permission bits; the one place where a leading zero means octal to everybody.
    Mode,
    Quantity,
    IntOrText,
    Time,
    /// Anything at all; nobody reads it.
    Any,
    /// One of these words. The empty text is the same as not given.
    Word(&'static [&'static str]),
    List(&'static Kind),
    Map(&'static Kind),
    Object(&'static Shape),
}

/// What this agent does with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Honoured,
    /// A later version will honour it. Until then it is an error, because it asks for something.
    NotYet,
    Refused(&'static str),
    /// It speaks to a part of Kubernetes that a lone node does not have.
    Ignored,
    /// The same, where a person would want to know.
    Noted(&'static str),
    /// A rule of [`super::rules`] decides, because it needs more than this field.
    ByRule,
}

pub const ANY_INT: Kind = Kind::Int(i64::MIN, i64::MAX);
pub const AT_LEAST_ONE: Kind = Kind::Int(1, i32::MAX as i64);
pub const COUNT: Kind = Kind::Int(0, i32::MAX as i64);
/// User and group ids: Kubernetes allows 0 … 2³¹ − 1.
pub const ID: Kind = Kind::Int(0, i32::MAX as i64);
pub const PORT: Kind = Kind::Int(1, 65535);
/// `hostPort: 0` is the same as none.
pub const PORT_OR_NONE: Kind = Kind::Int(0, 65535);

const LONE: &str = "it means nothing on a lone node: the pod runs here";
const NO_API: &str = "there is no Kubernetes API server here, so there is no token to give";
const NO_DRIVERS: &str = "resource claims need a cluster's device drivers";
const NOT_WINDOWS: &str = "this node runs Linux containers";

const fn shape(name: &'static str, fields: &'static [Field]) -> Shape {
    Shape { name, fields }
}

const fn field(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: false, standing: Standing::Honoured, plain: &[] }
}

const fn need(name: &'static str, kind: Kind) -> Field {
    Field { required: true, ..field(name, kind) }
}

impl Field {
    const fn standing(self, standing: Standing) -> Self {
        Self { standing, ..self }
    }

    const fn not_yet(self) -> Self {
        self.standing(Standing::NotYet)
    }

    const fn refused(self, reason: &'static str) -> Self {
        self.standing(Standing::Refused(reason))
    }

    const fn ignored(self) -> Self {
        self.standing(Standing::Ignored)
    }

    const fn noted(self, reason: &'static str) -> Self {
        self.standing(Standing::Noted(reason))
    }

    const fn by_rule(self) -> Self {
        self.standing(Standing::ByRule)
    }

    const fn unless(self, plain: &'static [&'static str]) -> Self {
        Self { plain, ..self }
    }
}

impl Shape {
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    pub fn names(&'static self) -> impl Iterator<Item = &'static str> + use<> {
        self.fields.iter().map(|field| field.name)
    }
}
