//! The names of classes without what the runtime puts around them, and the packages of their files (rules HG8, HG12).

const STATIC: &str = "java.lang.Class<";

/// The name of a class, divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plain<'a> {
    /// The *plain name*: without `java.lang.Class<>` around it and `[]`s at its end.
    pub name: &'a str,
    /// Whether it is the class object of another class.
    pub is_static: bool,
    /// The number of `[]`s.
    pub arrays: usize,
}

impl<'a> Plain<'a> {
    pub fn of(name: &'a str) -> Plain<'a> {
        let inside = name.strip_prefix(STATIC).and_then(|rest| rest.strip_suffix('>'));
        let mut plain =
            Plain { name: inside.unwrap_or(name), is_static: inside.is_some(), arrays: 0 };
        while let Some(element) = plain.name.strip_suffix("[]") {
            plain.name = element;
            plain.arrays += 1;
        }
        plain
    }

    /// Whether it is neither a class object nor an array.
    pub fn is_bare(&self) -> bool {
        !self.is_static && self.arrays == 0
    }

    /// Another plain name with the same around it.
    pub fn around(&self, name: &str) -> String {
        let arrays = "[]".repeat(self.arrays);
        match self.is_static {
            true => format!("{STATIC}{name}{arrays}>"),
            false => format!("{name}{arrays}"),
        }
    }
}

/// Files of the system's own packages: whether the path begins with the text or has it anywhere, and the package.
const KNOWN: &[(bool, &str, &str)] = &[
    (true, "/system_ext/priv-app/SystemUIGoogle/SystemUIGoogle.apk", "com.android.systemui"),
    (true, "/product/priv-app/Phonesky/Phonesky.apk", "com.android.vending"),
    (true, "/product/app/Maps/Maps.apk", "com.google.android.apps.maps"),
    (
        true,
        "/system_ext/priv-app/NexusLauncherRelease/NexusLauncherRelease.apk",
        "com.google.android.apps.nexuslauncher",
    ),
    (true, "/product/app/Photos/Photos.apk", "com.google.android.apps.photos"),
    (
        true,
        "/product/priv-app/WellbeingPrebuilt/WellbeingPrebuilt.apk",
        "com.google.android.apps.wellbeing",
    ),
    (false, "DevicePersonalizationPrebuilt", "com.google.android.as"),
    (false, "MatchMaker", "com.google.android.as"),
    (false, "DeviceIntelligenceNetworkPrebuilt", "com.google.android.as.oss"),
    (false, "SettingsIntelligenceGooglePrebuilt", "com.google.android.settings.intelligence"),
    (true, "/product/app/PrebuiltGmail/PrebuiltGmail.apk", "com.google.android.gm"),
    (false, "PrebuiltGmsCore", "com.google.android.gms"),
    (false, "com.google.android.gms", "com.google.android.gms"),
    (true, "/product/priv-app/Velvet/Velvet.apk", "com.google.android.googlequicksearchbox"),
    (
        true,
        "/product/app/LatinIMEGooglePrebuilt/LatinIMEGooglePrebuilt.apk",
        "com.google.android.inputmethod.latin",
    ),
    (true, "/product/app/PrebuiltBugle/PrebuiltBugle.apk", "com.google.android.apps.messaging"),
];

/// The path of an app that a package has installed names no package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::trackers) struct NoPackage;

/// The package that has a file; `None` for other files (rule HG12).
pub(in crate::trackers) fn package(path: &str) -> Result<Option<&str>, NoPackage> {
    let fits = |&&(is_start, text, _): &&(bool, &str, &str)| match is_start {
        true => path.starts_with(text),
        false => path.contains(text),
    };
    if let Some((_, _, package)) = KNOWN.iter().find(fits) {
        return Ok(Some(package));
    }
    let in_memory = path.split_once("dex extracted in memory from ").map(|(_, from)| from);
    let path = in_memory.unwrap_or(path);
    match path.strip_prefix("/data/app/") {
        None => Ok(None),
        Some(installed) => of_installed(installed).map(Some).ok_or(NoPackage),
    }
}

/// The package in `PACKAGE-HASH/base.apk` or `~~HASH/PACKAGE-HASH/base.apk`.
fn of_installed(path: &str) -> Option<&str> {
    let path = match path.starts_with('~') {
        true => path.split_once('/')?.1,
        false => path,
    };
    let (directory, _) = path.split_once('/')?;
    directory.split_once('-').map(|(package, _)| package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hg8_a_plain_name_has_nothing_around_it() {
        for (name, plain, is_static, arrays) in [
            ("a.b", "a.b", false, 0),
            ("a.b[][]", "a.b", false, 2),
            ("java.lang.Class<a.b>", "a.b", true, 0),
            ("java.lang.Class<a.b[]>", "a.b", true, 1),
            ("java.lang.Class<a.b>[]", "java.lang.Class<a.b>", false, 1),
            ("java.lang.Class<", "java.lang.Class<", false, 0),
            ("java.lang.Class<>", "", true, 0),
            ("[]", "", false, 1),
            ("", "", false, 0),
            ("x>", "x>", false, 0),
        ] {
            let found = Plain::of(name);
            assert_eq!(found, Plain { name: plain, is_static, arrays }, "{name}");
            assert_eq!(found.around(plain), name);
        }
    }

    #[test]
    fn hg12_a_path_names_its_package() {
        for (path, expected) in [
            ("/data/app/org.app-1/base.apk", Ok(Some("org.app"))),
            ("/data/app/~~x==/org.app-y==/base.apk", Ok(Some("org.app"))),
            (
                "[anon:dalvik-classes.dex extracted in memory from /data/app/~~q==/org.mem-z==/base.apk]",
                Ok(Some("org.mem")),
            ),
            ("dex extracted in memory from /data/app/org.app-1/base.apk", Ok(Some("org.app"))),
            ("/data/app/~~x==", Err(NoPackage)),
            ("/data/app/org.app-1", Err(NoPackage)),
            ("/data/app/org.app/base.apk", Err(NoPackage)),
            ("/data/app/", Err(NoPackage)),
            ("/system/framework/framework.jar", Ok(None)),
            ("base.apk", Ok(None)),
            ("", Ok(None)),
            ("/product/app/Maps/Maps.apk!classes2.dex", Ok(Some("com.google.android.apps.maps"))),
            ("/x/product/app/Maps/Maps.apk", Ok(None)),
            ("/data/app/~~x==/com.google.android.gms-y==/x", Ok(Some("com.google.android.gms"))),
            ("/product/priv-app/MatchMaker/x.apk", Ok(Some("com.google.android.as"))),
        ] {
            assert_eq!(package(path), expected, "{path}");
        }
    }
}
