//! Generic forms: selections of C11, overloads of C++.

use super::prototype::{Parameter, Prototype};
use super::{Family, Spec, Type};

/// The types that a family's generic form knows.
pub fn choices<'a>(spec: &'a Spec, family: &'a Family) -> impl Iterator<Item = &'a Type> {
    let set = family.types.as_str();
    spec.of_set(set).filter(move |ty| ty.basic || ty.basic_for.iter().any(|s| s == set))
}

/// C++ has overloads.
pub fn cxx(spec: &Spec) -> Result<String, String> {
    let mut text = String::from("\n#ifdef __cplusplus\n");
    for function in &spec.functions {
        let prototype = Prototype::parse(&function.c)?;
        if function.generic_context {
            text.push_str(&overload(&prototype.name, &prototype.with_context()));
        }
        if let Some(form) = &function.team_form {
            let mut other = Prototype::parse("int x(shmem_team_t team)")?;
            other.name = form.clone();
            text.push_str(&overload(&prototype.name, &other));
        }
    }
    for family in &spec.families {
        let Some(generic) = &family.generic else { continue };
        let pattern = Prototype::parse(&family.c)?;
        for ty in choices(spec, family) {
            let prototype = pattern.of_type(&ty.c, &pattern.name.replace("NAME", &ty.name));
            if family.context {
                text.push_str(&overload(generic, &prototype.with_context()));
            }
            text.push_str(&overload(generic, &prototype));
        }
    }
    Ok(text + "#endif /* C++ */\n")
}

/// A function of C++ that calls one of C.
fn overload(name: &str, calls: &Prototype) -> String {
    let fix = |text: String| {
        text.replace("double _Complex", "shmem_complexd_t")
            .replace("float _Complex", "shmem_complexf_t")
    };
    let head = Parameter { ty: calls.returns.clone(), name: name.to_owned() }.c();
    let arguments: Vec<&str> = calls.parameters.iter().map(|p| p.name.as_str()).collect();
    let returns = if calls.returns == "void" { "" } else { "return " };
    format!(
        "inline {}({}) {{ {returns}{}({}); }}\n",
        fix(head),
        fix(calls.list("")),
        calls.name,
        arguments.join(", ")
    )
}

const HELPERS: &str = "
#if !defined(__cplusplus) && defined(SHMEM_HAS_GENERIC)
/* What no association fits ends here, in an error of the compiler. */
struct shmem_hpvm_no_such_type { int nothing; };
static inline void shmem_hpvm_no_such_type(struct shmem_hpvm_no_such_type *nothing) { (void)nothing; }
#define SHMEM_HPVM_FIRST(...) SHMEM_HPVM_FIRST_(__VA_ARGS__, 0)
#define SHMEM_HPVM_FIRST_(first, ...) first
#define SHMEM_HPVM_SECOND(...) SHMEM_HPVM_SECOND_(__VA_ARGS__, 0, 0)
#define SHMEM_HPVM_SECOND_(first, second, ...) second
";

/// C11 has selections.
pub fn c11(spec: &Spec) -> Result<String, String> {
    let mut text = HELPERS.to_owned();
    for function in &spec.functions {
        let prototype = Prototype::parse(&function.c)?;
        let name = &prototype.name;
        let other = match &function.team_form {
            Some(form) => Some(("shmem_team_t", form.clone())),
            None if function.generic_context => {
                Some(("shmem_ctx_t", prototype.with_context().name))
            }
            None => None,
        };
        if let Some((ty, other)) = other {
            text.push_str(&format!(
                "#define {name}(...) _Generic((SHMEM_HPVM_FIRST(__VA_ARGS__)), {ty}: {other}, \
                 default: {name})(__VA_ARGS__)\n"
            ));
        }
    }
    for family in &spec.families {
        if let Some(generic) = &family.generic {
            text.push_str(&selection(spec, family, generic)?);
        }
    }
    Ok(text + "#endif /* C11 */\n")
}

/// The selection of one family. On what argument it depends: the first pointer to the type.
fn selection(spec: &Spec, family: &Family, generic: &str) -> Result<String, String> {
    let pattern = Prototype::parse(&family.c)?;
    let first = pattern.parameters.iter().position(|p| p.ty.contains("TYPE *"));
    let first = first.ok_or_else(|| format!("spec/shmem: {} selects by nothing", family.c))?;
    let constant = pattern.parameters[first].ty.starts_with("const");
    let branches = |context: bool| {
        let one = |ty: &Type| {
            let mut prototype = pattern.of_type(&ty.c, &pattern.name.replace("NAME", &ty.name));
            if context {
                prototype = prototype.with_context();
            }
            let plain = format!("{} *: {}", ty.c, prototype.name);
            match constant {
                true => format!("{plain}, const {} *: {}", ty.c, prototype.name),
                false => plain,
            }
        };
        let all: Vec<String> = choices(spec, family).map(one).collect();
        all.join(", \\\n    ")
    };
    let argument = ["FIRST", "SECOND"].get(first);
    let argument = argument.ok_or_else(|| format!("spec/shmem: {} selects late", family.c))?;
    if !family.context {
        return Ok(format!(
            "#define {generic}(...) _Generic((SHMEM_HPVM_{argument}(__VA_ARGS__)), \\\n    {})(__VA_ARGS__)\n",
            branches(false)
        ));
    }
    Ok(format!(
        "#define {generic}(...) _Generic((SHMEM_HPVM_FIRST(__VA_ARGS__)), \\\n    shmem_ctx_t: \
         _Generic((SHMEM_HPVM_SECOND(__VA_ARGS__)), \\\n    {}, \\\n    default: shmem_hpvm_no_such_type), \\\n    \
         {})(__VA_ARGS__)\n",
        branches(true),
        branches(false)
    ))
}
