//! C declarations as spec/ writes them, and how Rust spells them.
//!
//! A declaration is `[const] TYPE[|WIDE] [*...]NAME[[]...]`. `WIDE` is the type in the large-count
//! (`_c`) form of the function; without it both forms have the same type.

/// Which of the two forms of a function is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// The form whose counts are `int`.
    Narrow,
    /// The form whose name ends in `_c`, or the only form there is of a function without counts.
    Wide,
}

/// One declaration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decl {
    pub constant: bool,
    pub narrow: String,
    pub wide: Option<String>,
    pub stars: usize,
    pub name: String,
    /// What follows the name: "", "[]" or "[][3]".
    pub array: String,
}

impl Decl {
    /// Reads a declaration; the error names the offending text.
    pub fn parse(text: &str) -> Result<Decl, String> {
        let bad = || format!("cannot read the C declaration `{text}`");
        let (constant, rest) = match text.strip_prefix("const ") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (types, declarator) = rest.split_once(' ').ok_or_else(bad)?;
        let (narrow, wide) = match types.split_once('|') {
            Some((narrow, wide)) => (narrow, Some(wide)),
            None => (types, None),
        };
        let name_and_array = declarator.trim_start_matches('*');
        let stars = declarator.len() - name_and_array.len();
        let end = name_and_array.find('[').unwrap_or(name_and_array.len());
        let (name, array) = name_and_array.split_at(end);
        let words = [Some(narrow), wide, Some(name)];
        if !words.iter().flatten().all(|word| is_identifier(word)) {
            return Err(bad());
        }
        if !["", "[]", "[][3]"].contains(&array) {
            return Err(bad());
        }
        Ok(Decl {
            constant,
            narrow: narrow.to_owned(),
            wide: wide.map(str::to_owned),
            stars,
            name: name.to_owned(),
            array: array.to_owned(),
        })
    }

    /// The type's name in one form.
    pub fn base(&self, form: Form) -> &str {
        match (form, &self.wide) {
            (Form::Wide, Some(wide)) => wide,
            _ => &self.narrow,
        }
    }

    /// The declaration as C writes it.
    pub fn c(&self, form: Form) -> String {
        let constant = if self.constant { "const " } else { "" };
        let stars = "*".repeat(self.stars);
        format!("{constant}{} {stars}{}{}", self.base(form), self.name, self.array)
    }

    /// The Rust type. Callback types are nullable function pointers already, so one level of
    /// pointer goes.
    pub fn rust_type(&self, form: Form) -> String {
        let base = self.base(form);
        let mut depth = self.stars + usize::from(!self.array.is_empty());
        if is_callback(base) {
            depth = depth.saturating_sub(1);
        }
        let mut text = rust_base(base).to_owned();
        if self.array == "[][3]" {
            text = format!("[{text}; 3]");
        }
        for level in 0..depth {
            let kind = if level == 0 && self.constant { "*const" } else { "*mut" };
            text = format!("{kind} {text}");
        }
        text
    }

    /// The name, written so that Rust takes it.
    pub fn rust_name(&self) -> String {
        const RESERVED: [&str; 10] =
            ["type", "fn", "in", "ref", "match", "final", "where", "move", "use", "box"];
        if RESERVED.contains(&self.name.as_str()) {
            format!("r#{}", self.name)
        } else {
            self.name.clone()
        }
    }

    /// Whether this is a pointer or an array.
    pub fn is_pointer(&self) -> bool {
        self.stars > 0 || !self.array.is_empty()
    }
}

/// The Rust name of a C type without pointers.
pub fn rust_base(c: &str) -> &str {
    match c {
        "int" => "c_int",
        "char" => "c_char",
        "void" => "c_void",
        "double" => "f64",
        other => other,
    }
}

/// Whether a type is a function type.
pub fn is_callback(name: &str) -> bool {
    name.ends_with("_function") || name.ends_with("_function_c")
}

fn is_identifier(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(text: &str) -> (String, String, String, String) {
        let decl = Decl::parse(text).expect(text);
        (
            decl.c(Form::Narrow),
            decl.c(Form::Wide),
            decl.rust_type(Form::Narrow),
            decl.rust_type(Form::Wide),
        )
    }

    fn same(text: &str, rust: &str) {
        let (narrow, wide, narrow_rust, wide_rust) = both(text);
        assert_eq!((narrow.as_str(), wide.as_str()), (text, text));
        assert_eq!((narrow_rust.as_str(), wide_rust.as_str()), (rust, rust));
    }

    #[test]
    fn plain_declarations() {
        same("int dest", "c_int");
        same("const void *buf", "*const c_void");
        same("char ***argv", "*mut *mut *mut c_char");
        same("char *argv[]", "*mut *mut c_char");
        same("int ranges[][3]", "*mut [c_int; 3]");
        same("const MPI_Datatype types[]", "*const MPI_Datatype");
        same("MPI_User_function *user_fn", "MPI_User_function");
        same("MPI_T_event_cb_function event_cb_function", "MPI_T_event_cb_function");
    }

    #[test]
    fn declarations_that_widen() {
        let (narrow, wide, narrow_rust, wide_rust) = both("const int|MPI_Aint displs[]");
        assert_eq!(
            (narrow.as_str(), wide.as_str()),
            ("const int displs[]", "const MPI_Aint displs[]")
        );
        assert_eq!((narrow_rust.as_str(), wide_rust.as_str()), ("*const c_int", "*const MPI_Aint"));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["int", "int 3x", "int a[4]", "int|| a", "", "const int"] {
            assert!(Decl::parse(text).is_err(), "{text}");
        }
    }
}
