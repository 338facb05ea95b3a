//! Names that the JVM and .NET give to code that they make at run time, in jitdumps and perf maps: `long Shop.price(long, int)`,
//! `int64 [shop] Shop::Price(int64,int32)[Optimized]`.
//!
//! Source: `CodeCache::write_perf_map` of the JDK (`jcmd PID Compiler.perfmap`) and `PerfMap::LogMethod` of .NET's runtime: a result's type, in .NET
//! the assembly, the function with its class and its parameters, in .NET how it was compiled.

/// The function with its class.
pub(crate) fn demangle(name: &str) -> Option<String> {
    of_dotnet(name).or_else(|| of_java(name)).map(str::to_owned)
}

/// `TYPE [ASSEMBLY] CLASS::METHOD(TYPES)[HOW]`.
fn of_dotnet(name: &str) -> Option<&str> {
    let (rest, _) = name.strip_suffix(']')?.rsplit_once('[')?;
    let (result, rest) = rest.split_once(" [")?;
    let (_, function) = rest.split_once("] ")?;
    let (function, parameters) = function.split_once('(')?;
    (!result.is_empty() && parameters.ends_with(')') && function.contains("::")).then_some(function)
}

/// `TYPE CLASS.METHOD(TYPES)`.
fn of_java(name: &str) -> Option<&str> {
    let (head, parameters) = name.split_once('(')?;
    let (result, function) = head.split_once(' ')?;
    let (class, method) = function.rsplit_once('.')?;
    let is_name = |text: &str| {
        let of_name = |letter: char| letter.is_alphanumeric() || "_$.<>/+[]".contains(letter);
        !text.is_empty() && text.chars().all(of_name)
    };
    (parameters.ends_with(')') && [result, class, method].into_iter().all(is_name)).then_some(function)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As JDK 17 (`jcmd PID Compiler.perfmap`) and .NET Core 3.1 (`COMPlus_PerfMapEnabled=1`) wrote them.
    #[test]
    fn names_of_both_runtimes_are_read() {
        for (name, said) in [
            ("long S.work(long, int)", "S.work"),
            ("char java.lang.String.charAt(int)", "java.lang.String.charAt"),
            (
                "boolean jdk.internal.misc.Unsafe.compareAndSetReference(java.lang.Object, long, java.lang.Object, java.lang.Object)",
                "jdk.internal.misc.Unsafe.compareAndSetReference",
            ),
            ("void java.lang.Object.<init>()", "java.lang.Object.<init>"),
            ("byte[] java.util.Arrays.copyOf(byte[], int)", "java.util.Arrays.copyOf"),
            ("int64 [shop] Shop::Recounted(int64)[Optimized]", "Shop::Recounted"),
            ("void [shop] Shop::.cctor()[QuickJitted]", "Shop::.cctor"),
            (
                "instance bool [System.Private.CoreLib] System.Collections.Generic.Dictionary`2[System.__Canon,Tailtrace.Marks+Label]::TryGetValue(!0,!1&)[QuickJitted]",
                "System.Collections.Generic.Dictionary`2[System.__Canon,Tailtrace.Marks+Label]::TryGetValue",
            ),
        ] {
            assert_eq!(demangle(name).as_deref(), Some(said), "{name}");
        }
        for other in [
            "I2C/C2I adapters",
            "new_multi_array Runtime1 stub",
            "stub<1> AllocateTemporaryEntryPoints<PRECODE_FIXUP>",
            "operator new(unsigned long)",
            "LazyCompile:*totalOrders /srv/shop.js:23",
            "main",
            "read(int)",
            "long S.work",
        ] {
            assert_eq!(demangle(other), None, "{other}");
        }
    }
}
