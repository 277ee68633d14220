//! C prototypes as far as the data has them.

/// A C function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prototype {
    pub returns: String,
    pub name: String,
    pub parameters: Vec<Parameter>,
}

/// A parameter: a type with its stars, and a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub ty: String,
    pub name: String,
}

impl Parameter {
    /// As C writes it.
    pub fn c(&self) -> String {
        match self.ty.ends_with('*') {
            true => format!("{}{}", self.ty, self.name),
            false => format!("{} {}", self.ty, self.name),
        }
    }
}

impl Prototype {
    /// Reads `int name(type *a, type b)`.
    pub fn parse(text: &str) -> Result<Prototype, String> {
        let wrong = || format!("spec/shmem: `{text}` is no prototype");
        let (head, tail) = text.split_once('(').ok_or_else(wrong)?;
        let list = tail.strip_suffix(')').ok_or_else(wrong)?;
        let head = split(head).ok_or_else(wrong)?;
        let parameters = match list {
            "void" => Some(Vec::new()),
            _ => list.split(',').map(split).collect(),
        };
        let parameters = parameters.ok_or_else(wrong)?;
        Ok(Prototype { returns: head.ty, name: head.name, parameters })
    }

    /// With the type in place of `TYPE`, and another name.
    pub fn of_type(&self, ty: &str, name: &str) -> Prototype {
        let typed =
            |p: &Parameter| Parameter { ty: p.ty.replace("TYPE", ty), name: p.name.clone() };
        Prototype {
            returns: self.returns.replace("TYPE", ty),
            name: name.to_owned(),
            parameters: self.parameters.iter().map(typed).collect(),
        }
    }

    /// The form with a context first.
    pub fn with_context(&self) -> Prototype {
        let context = Parameter { ty: "shmem_ctx_t".into(), name: "ctx".into() };
        let mut form = self.clone();
        form.name = self.name.replacen("shmem_", "shmem_ctx_", 1);
        form.parameters.insert(0, context);
        form
    }

    /// The parameters as C writes them; `and` comes last.
    pub fn list(&self, and: &str) -> String {
        let all: Vec<String> = self.parameters.iter().map(Parameter::c).collect();
        match all.is_empty() {
            true => "void".to_owned(),
            false => all.join(", ") + and,
        }
    }

    /// The result and the name as C writes them.
    pub fn head(&self, name: &str) -> String {
        Parameter { ty: self.returns.clone(), name: name.to_owned() }.c()
    }
}

/// Splits `const int *a` into type and name.
fn split(text: &str) -> Option<Parameter> {
    let text = text.trim();
    let at = text.rfind([' ', '*'])? + 1;
    Some(Parameter { ty: text[..at].trim_end().to_owned(), name: text[at..].to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prototype_is_read_and_written() {
        let text = "void *shmem_NAME_x(const TYPE *a, int b)";
        let read = Prototype::parse(text).expect("a prototype");
        assert_eq!(read.returns, "void *");
        assert_eq!(read.list(""), "const TYPE *a, int b");
        assert_eq!(read.head(&read.name), "void *shmem_NAME_x");
        let context = read.of_type("int", "shmem_int_x").with_context();
        assert_eq!(context.name, "shmem_ctx_int_x");
        assert_eq!(context.list(", ..."), "shmem_ctx_t ctx, const int *a, int b, ...");
        assert!(Prototype::parse("int x").is_err());
        assert_eq!(Prototype::parse("int x(void)").expect("a prototype").list(""), "void");
    }
}
