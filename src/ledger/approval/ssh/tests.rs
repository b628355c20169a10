//! Signatures that the real `ssh-keygen` made over `message`, with keys that were made for it and thrown away.

use super::*;

const MESSAGE: &[u8] = include_bytes!("made_up/message");

macro_rules! made_up {
    ($name:literal) => {
        (
            include_str!(concat!("made_up/", $name, ".pub")),
            include_str!(concat!("made_up/", $name, ".sig")),
        )
    };
}

const FINGERPRINT: &str = "SHA256:pCdAnLcOlMqCGc3efsqiwoXY78c1ti+MKQIQUBAq/hA";

const PAIRS: [(&str, &str); 4] = [
    made_up!("ed25519"),
    made_up!("nistp256"),
    made_up!("nistp384"),
    made_up!("rsa"),
];

#[test]
fn what_ssh_keygen_signed_is_verified_and_nothing_else() {
    for (line, armour) in PAIRS {
        let key = PublicKey::of_line(line).unwrap();
        let signature = Signature::parse(armour).unwrap();
        assert_eq!(signature.key(), &key, "{line}");
        assert_eq!(signature.verify(MESSAGE), Ok(()), "{line}");
        for other in [&b""[..], b"hello", b"hello\n\n", b"hullo\n"] {
            assert_eq!(signature.verify(other), Err(Error::Mismatch), "{line}");
        }
        let elsewhere = Signature {
            namespace: "git".to_owned(),
            ..signature.clone()
        };
        assert_eq!(
            elsewhere.verify(MESSAGE),
            Err(Error::Namespace("git".to_owned()))
        );
        for (other, _) in PAIRS {
            let other = PublicKey::of_line(other).unwrap();
            let anothers = Signature {
                key: other.clone(),
                ..signature.clone()
            };
            let expected = if other == key {
                Ok(())
            } else {
                Err(Error::Mismatch)
            };
            assert_eq!(anothers.verify(MESSAGE), expected, "{line}");
        }
    }
}

#[test]
fn no_byte_of_a_signature_can_be_changed() {
    for (_, armour) in PAIRS {
        let body: String = armour
            .lines()
            .filter(|line| !line.starts_with('-'))
            .collect();
        let blob = BASE64.decode(body.as_bytes()).unwrap();
        for at in 0..blob.len() {
            let mut changed = blob.clone();
            changed[at] ^= 1;
            let verified = Signature::of_blob(&changed)
                .map_err(drop)
                .and_then(|signature| signature.verify(MESSAGE).map_err(drop));
            assert_eq!(verified, Err(()), "byte {at}");
        }
        for cut in 0..blob.len() {
            assert!(Signature::of_blob(&blob[..cut]).is_err(), "cut at {cut}");
        }
    }
}

#[test]
fn a_text_that_is_no_signature_says_why() {
    let (_, armour) = PAIRS[0];
    let without_end = armour.replace("-----END SSH SIGNATURE-----", "");
    let twice = format!("{armour}{armour}");
    let long = "A".repeat(ARMOUR_MAX + 1);
    for (text, why) in [
        ("", "its first line is not -----BEGIN SSH SIGNATURE-----"),
        (
            "hello",
            "its first line is not -----BEGIN SSH SIGNATURE-----",
        ),
        (&without_end, "it is cut off"),
        (&twice, "something follows it"),
        (&long, "it is longer than 16 KiB"),
        (
            "-----BEGIN SSH SIGNATURE-----\n!\n-----END SSH SIGNATURE-----",
            "it is not base64",
        ),
        (
            "-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAg==\n-----END SSH SIGNATURE-----",
            "it is of another format or version",
        ),
    ] {
        assert_eq!(Signature::parse(text), Err(Error::Signature(why)), "{text}");
    }
    let windows = armour.replace('\n', "\r\n");
    assert_eq!(Signature::parse(&windows), Signature::parse(armour));
}

#[test]
fn a_line_that_is_no_key_says_why() {
    let (line, _) = PAIRS[0];
    let base64 = line.split(' ').nth(1).unwrap();
    let (wide, armour) = made_up!("nistp521");
    let kind = || Error::Kind("ecdsa-sha2-nistp521".to_owned());
    assert_eq!(PublicKey::of_line(wide), Err(kind()));
    assert_eq!(Signature::parse(armour), Err(kind()));
    for (line, expected) in [
        ("", Error::Key("it has fewer than two fields")),
        ("ssh-ed25519", Error::Key("it has fewer than two fields")),
        (
            "ssh-ed25519 !!",
            Error::Key("its second field is not base64"),
        ),
        ("ssh-ed25519 AAAA", Error::Key("its bytes are cut off")),
        (
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5",
            Error::Key("its bytes are not those of its kind"),
        ),
        (
            &format!("ssh-rsa {base64}"),
            Error::Key("its bytes are of another kind than it says"),
        ),
    ] {
        assert_eq!(PublicKey::of_line(line), Err(expected), "{line}");
    }
}

#[test]
fn fingerprints_are_those_of_ssh_keygen() {
    let key = PublicKey::of_line(PAIRS[0].0).unwrap();
    assert_eq!(key.fingerprint(), FINGERPRINT);
}

#[test]
fn a_hardware_key_signs_when_it_was_touched() {
    use ring::signature::{Ed25519KeyPair, KeyPair};
    let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let mut blob = Vec::new();
    for field in [
        &b"sk-ssh-ed25519@openssh.com"[..],
        pair.public_key().as_ref(),
        b"ssh:",
    ] {
        push(&mut blob, field);
    }
    let key = PublicKey::of_blob(blob).unwrap();
    let by = |touched: &[u8]| {
        let mut signature = Signature {
            key: key.clone(),
            namespace: NAMESPACE.to_owned(),
            hash: Hash::Sha512,
            algorithm: key.kind.to_owned(),
            bytes: Vec::new(),
            touched: touched.to_vec(),
        };
        let mut message = Sha256::digest(b"ssh:").to_vec();
        message.extend_from_slice(touched);
        message.extend_from_slice(&Sha256::digest(signature.signed(MESSAGE)));
        signature.bytes = pair.sign(&message).as_ref().to_vec();
        signature
    };
    let touched = by(&[1, 0, 0, 0, 9]);
    assert_eq!(touched.verify(MESSAGE), Ok(()));
    assert_eq!(touched.verify(b"other"), Err(Error::Mismatch));
    assert_eq!(by(&[0, 0, 0, 0, 9]).verify(MESSAGE), Err(Error::NotTouched));
    assert_eq!(by(&[1, 0, 0]).verify(MESSAGE), Err(Error::Mismatch));
    let counted_on = Signature {
        touched: vec![1, 0, 0, 0, 8],
        ..touched
    };
    assert_eq!(counted_on.verify(MESSAGE), Err(Error::Mismatch));
}

#[test]
fn keys_of_tests_sign_as_ssh_keygen_does() {
    let key = PublicKey::of_line(&made_up::public(1)).unwrap();
    let signature = Signature::parse(&made_up::sign(1, NAMESPACE, "hello")).unwrap();
    assert_eq!(signature.key(), &key);
    assert_eq!(signature.verify(b"hello"), Ok(()));
}
