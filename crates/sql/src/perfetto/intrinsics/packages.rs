//! The package behind a uid of Android.
//!
//! | function | result |
//! |---|---|
//! | `android_package_lookup(uid)`, `package_lookup(uid)` | the name of an app by `package_list`, of a fixed uid of Android such as `AID_SYSTEM_USER`, or else `uid=` and the uid; NULL of NULL |

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::{Answer, Arguments, Call, Function, Functions, Lookup, Result};

/// The uids of each user.
const OF_A_USER: u32 = 100_000;

/// The first uid of an app.
const FIRST_APP: u32 = 10_000;

/// The fixed uids of Android: the first of a row, and the names from there on.
const FIXED: [(u32, &str); 4] = [
    (0, "ROOT"),
    (
        1000,
        "SYSTEM_USER RADIO BLUETOOTH GRAPHICS INPUT AUDIO CAMERA LOG COMPASS MOUNT WIFI ADB \
         INSTALL MEDIA DHCP SDCARD_RW VPN KEYSTORE USB DRM MDNSR GPS UNUSED1 MEDIA_RW MTP UNUSED2 \
         DRMRPC NFC SDCARD_R CLAT LOOP_RADIO MEDIA_DRM PACKAGE_INFO SDCARD_PICS SDCARD_AV \
         SDCARD_ALL LOGD SHARED_RELRO DBUS TLSDATE MEDIA_EX AUDIOSERVER METRICS_COLL METRICSD \
         WEBSERV DEBUGGERD MEDIA_CODEC CAMERASERVER FIREWALL TRUNKS NVRAM DNS DNS_TETHER \
         WEBVIEW_ZYGOTE VEHICLE_NETWORK MEDIA_AUDIO MEDIA_VIDEO MEDIA_IMAGE TOMBSTONED MEDIA_OBB \
         ESE OTA_UPDATE AUTOMOTIVE_EVS LOWPAN HSM RESERVED_DISK STATSD INCIDENTD SECURE_ELEMENT \
         LMKD LLKD IORAPD GPU_SERVICE NETWORK_STACK GSID FSVERITY_CERT CREDSTORE EXTERNAL_STORAGE \
         EXT_DATA_RW EXT_OBB_RW CONTEXT_HUB VIRTMANAGER ARTD UWB THREAD_NETWORK DICED DMESGD \
         JC_WEAVER JC_STRONGBOX JC_IDENTITYCRED SDK_SANDBOX SECURITY_LOG_WRITER PRNG_SEEDER \
         UPROBESTATS",
    ),
    (2000, "SHELL CACHE DIAG"),
    (9999, "NOBODY"),
];

/// The best package of several with one uid: Google's services before others, and those before providers.
const BEST: &str = "SELECT package_name FROM package_list WHERE uid = ?1 AND package_name <> '' \
     ORDER BY CASE WHEN package_name = 'com.google.android.gms' THEN 0 \
                   WHEN substr(package_name, 1, 22) = 'com.android.providers.' THEN 2 ELSE 1 END, id LIMIT 1";

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    let mut to = conn;
    for name in ["android_package_lookup", "package_lookup"] {
        // A database without the table has no packages.
        to.add(name, 1, PackageLookup(name, Lookup::new(BEST).or("SELECT NULL WHERE ?1 IS NULL")))?;
    }
    Ok(())
}

struct PackageLookup(&'static str, Lookup);

impl Function for PackageLookup {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let PackageLookup(name, best) = self;
        let Some(uid) = Arguments::new(name, call).integer(0, "uid")? else {
            return Ok(Answer::Null);
        };
        // As in trace processor, whose uids have 32 bits.
        let uid = uid as u32;
        let of_user = uid % OF_A_USER;
        if of_user >= FIRST_APP {
            let found = best.value(name, call, &[ValueRef::Integer(of_user.into())])?;
            if found != Answer::Null {
                return Ok(found);
            }
        }
        Ok(match of_user {
            50_000..60_000 => "SHARED_GID".into(),
            90_000.. => "ISOLATED_UID".into(),
            _ => match fixed(of_user) {
                Some(name) => format!("AID_{name}").into(),
                None => format!("uid={uid}").into(),
            },
        })
    }
}

/// The name of a fixed uid.
fn fixed(uid: u32) -> Option<&'static str> {
    FIXED.iter().find_map(|(first, names)| {
        let place = usize::try_from(uid.checked_sub(*first)?).ok()?;
        names.split(' ').nth(place)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::super::testing::{connection, error, rows};

    #[test]
    fn pq15_a_uid_is_an_app_or_a_fixed_one() {
        let conn = connection();
        let of =
            |uid: &str| rows(&conn, &format!("SELECT android_package_lookup({uid})")).remove(0);
        let without_packages = [
            ("NULL", "NULL"),
            ("0", "AID_ROOT"),
            ("1000", "AID_SYSTEM_USER"),
            ("1001000", "AID_SYSTEM_USER"),
            ("1093", "AID_UPROBESTATS"),
            ("1094", "uid=1094"),
            ("2002", "AID_DIAG"),
            ("9999", "AID_NOBODY"),
            ("10010", "uid=10010"),
            ("1010010", "uid=1010010"),
            ("50000", "SHARED_GID"),
            ("59999", "SHARED_GID"),
            ("60000", "uid=60000"),
            ("90000", "ISOLATED_UID"),
            ("199999", "ISOLATED_UID"),
            ("-1", "uid=4294967295"),
        ];
        for (uid, expected) in without_packages {
            assert_eq!(of(uid), expected, "{uid}");
        }
        conn.execute_batch(
            "CREATE TABLE package_list (id INTEGER PRIMARY KEY, package_name TEXT, uid INTEGER);
             INSERT INTO package_list (package_name, uid) VALUES ('com.a', 10010), ('com.b', 10010),
                ('com.android.providers.media', 10011), ('com.c', 10011), ('com.c', 10012),
                ('com.google.android.gms', 10012), ('com.android.providers.x', 10013), (NULL, 10014),
                ('system', 1000), ('com.shared', 50001);",
        )
        .unwrap();
        let with_packages = [
            ("10010", "com.a"),
            ("1010010", "com.a"),
            ("10011", "com.c"),
            ("10012", "com.google.android.gms"),
            ("10013", "com.android.providers.x"),
            ("10014", "uid=10014"),
            ("1000", "AID_SYSTEM_USER"),
            ("50001", "com.shared"),
        ];
        for (uid, expected) in with_packages {
            assert_eq!(of(uid), expected, "{uid}");
        }
        assert_eq!(
            error(&conn, "SELECT android_package_lookup('root')"),
            "android_package_lookup(): argument 1 (uid) must be an integer, not the text 'root'"
        );
    }
}
