//! Everything the configuration says, for one run of the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reqwest::Url;
use secrecy::SecretString;

use super::ArchiveSettings;
use super::Error;
use super::FileSettings;
use super::LimitSettings;
use super::Origin;
use super::Profile;
use super::Service;
use super::ShownValue;
use super::approval::{ApprovalSettings, EvidenceSettings};
use super::file::approval::assert_repeats;
use super::keys::{self, Key};
use super::notices::NoticeSettings;
use super::shown;
use crate::cli::config::file::dialect::{self, DialectSettings};
use crate::cli::config::file::document::Document;
use crate::cli::config::file::entry::Entry;
use crate::cli::config::file::layers::{Layers, Stack};
use crate::cli::config::file::limits;
use crate::cli::config::file::recipients;
use crate::cli::config::file::source::{self, Source};
use crate::cli::config::file::thresholds;
use crate::cli::config::value::secret::{self, Password};
use crate::cli::config::value::suggest;
use crate::domain::{Country, Money, Originator, ServiceCode, WireZone};
use crate::intake::layout::Layout;
use crate::ledger::limits::Limits;
use crate::lifecycle::Class;
use crate::report::accounting::Chart;
use crate::statement::Terms;

/// What the configuration is made from. It may hold a password, so it has no debug output.
#[derive(Clone, Default)]
pub struct Sources {
    /// `--config`.
    pub config_path: Option<PathBuf>,
    /// `--profile`.
    pub profile: Option<String>,
    /// The process's environment.
    pub environment: BTreeMap<String, String>,
    /// Key and value of every flag that sets a key; of two, the last wins.
    pub overrides: Vec<(String, String)>,
    /// Where `disburse.toml` is looked for; empty for the working directory.
    pub directory: PathBuf,
}

/// The whole configuration. No field and no debug output holds the password.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The profile's name; `sandbox` or `default` when no file names one.
    pub profile_name: String,
    /// The names of all profiles of the file.
    pub known_profiles: Vec<String>,
    /// Which gateways the others of them name, as it stands there.
    pub other_gateways: Vec<String>,
    /// The chosen profile.
    pub profile: Profile,
    /// The services by code; with none, every service is accepted.
    pub services: BTreeMap<ServiceCode, Service>,
    /// From which amount on an RTGS transfer needs a supporting document; currencies that are not named ask for none.
    pub document_thresholds: Vec<Money>,
    /// Header to column.
    pub columns: BTreeMap<String, String>,
    /// Layouts of files by their names, beside those that come along.
    pub layouts: BTreeMap<String, Layout>,
    /// How statements are read, by the names that `reconcile --layout` takes.
    pub statements: BTreeMap<String, Terms>,
    /// How files are opened before they are read.
    pub files: FileSettings,
    /// How archives are encrypted.
    pub archive: ArchiveSettings,
    /// How much may be paid, to whom, and when.
    pub limits: LimitSettings,
    /// What a deployment's codes mean in status replies and callbacks.
    pub status_codes: BTreeMap<i32, Class>,
    /// What a deployment's codes mean in replies to posts.
    pub post_codes: BTreeMap<i32, Class>,
    /// The accounts and columns of the books.
    pub accounting: Option<Chart>,
    /// Which batches need signatures, and whose.
    pub approval: Option<ApprovalSettings>,
    /// Where the heads of the evidence go.
    pub evidence: Option<EvidenceSettings>,
    /// Who is told how a batch goes.
    pub notices: Option<NoticeSettings>,
    /// How the wire differs from the interface document.
    pub dialect: DialectSettings,
    /// The gateway is the sandbox: no money moves.
    pub is_rehearsal: bool,
    /// The origin of every value that is set, by dotted name.
    pub origins: BTreeMap<String, Origin>,
    /// The file that was read, or the places where none was found.
    pub file: Result<PathBuf, Vec<PathBuf>>,
    pub(super) shown: Vec<ShownValue>,
    password: Option<Password>,
}

/// What talking to a gateway takes, complete.
#[derive(Debug)]
pub struct GatewaySettings<'a> {
    /// Its address.
    pub base_url: &'a Url,
    /// The user.
    pub username: &'a str,
    /// The user's password.
    pub password: SecretString,
    /// The paying organisation.
    pub originator: &'a Originator,
    /// `countryCode` of requests.
    pub country: Country,
    /// The zone of `datePaymentReceived`.
    pub zone: &'a WireZone,
}

impl Settings {
    /// Loads the configuration for a real gateway.
    ///
    /// # Errors
    /// The first mistake of any source, with its place.
    pub fn load(sources: &Sources) -> Result<Self, Error> {
        Self::build(sources, None)
    }

    /// Loads the configuration for the built-in sandbox gateway.
    ///
    /// The built-in profile lies between file and defaults, and its services stand in for a file that names none.
    /// Addresses, certificates and passwords of environment and file are left out, so that a rehearsal reaches
    /// nothing real; the caller sets `base_url` and `callback.public_url` once the sandbox listens.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn sandbox(sources: &Sources) -> Result<Self, Error> {
        let source = Source::new(None, include_str!("sandbox.toml"));
        Self::build(sources, Some(Document::parse(&source, Path::new(""))?))
    }

    fn build(sources: &Sources, sandbox: Option<Document>) -> Result<Self, Error> {
        let environment = &sources.environment;
        let located = source::locate(
            sources.config_path.as_deref(),
            environment,
            &sources.directory,
        );
        let mut document = match &located {
            Ok(path) => {
                let text = source::read(path, sandbox.is_some())?;
                let directory = path.parent().unwrap_or(Path::new(""));
                Document::parse(&Source::new(Some(path), &text), directory)?
            }
            Err(_) => Document::default(),
        };
        let chosen = choose_profile(sources, &document, &located, sandbox.is_some())?;
        let fallback = ["default", "sandbox"][usize::from(sandbox.is_some())];
        let mut layers = Layers::resolve(&Stack {
            overrides: &sources.overrides,
            environment,
            file: chosen.as_ref().and_then(|name| document.profiles.get(name)),
            sandbox: sandbox.as_ref().and_then(|s| s.profiles.get("sandbox")),
        })?;
        assert_repeats(&document, &layers)?;
        let sandbox_profile = sandbox.is_some();
        let password = password(&mut layers, sandbox_profile);
        let names_services = !document.services.is_empty();
        if let Some(sandbox) = sandbox
            && !names_services
        {
            document.services = sandbox.services;
            document.others.extend(sandbox.others);
        }
        thresholds::complete(&mut document)?;
        let dialect = dialect::of_entry(layers.entry("dialect"), sandbox_profile)?;
        let profile = Profile::read(&layers)?;
        dialect::compare(&dialect, &layers, &profile)?;
        if names_services {
            dialect::know_services(&dialect, &document.services)?;
            limits::know_services(&document, &document.services)?;
        }
        document.limits.take_zone(&profile);
        let password_origin = password.as_ref().map(|(_, origin)| origin.clone());
        let other_gateways = document.other_gateways(chosen.as_deref());
        let shown = shown::collect(&layers, password_origin, document.others);
        Ok(Self {
            known_profiles: document.profiles.keys().cloned().collect(),
            other_gateways,
            profile_name: chosen.unwrap_or_else(|| fallback.to_owned()),
            profile,
            services: document.services,
            document_thresholds: document.document_thresholds,
            columns: document.columns,
            layouts: document.layouts,
            statements: document.statements,
            files: document.files,
            archive: document.archive,
            limits: document.limits,
            status_codes: document.status_codes,
            post_codes: document.post_codes,
            accounting: document.accounting,
            approval: document.approval,
            evidence: document.evidence,
            notices: document.notices.map(|it| it.with_secret(environment)),
            dialect,
            is_rehearsal: sandbox_profile,
            origins: shown::origins(&shown),
            file: located,
            shown,
            password: password.map(|(password, _)| password),
        })
    }

    /// Returns what talking to the gateway takes; reads the password file when there is one.
    ///
    /// # Errors
    /// Names every key that is needed and not set, or what is wrong with the password file.
    pub fn gateway(&self) -> Result<GatewaySettings<'_>, Error> {
        let profile = &self.profile;
        if let Profile {
            base_url: Some(base_url),
            username: Some(username),
            originator: Some(originator),
            country_code: Some(country),
            time_zone: Some(zone),
            ..
        } = profile
            && let Some(password) = &self.password
            && (!self.needs_token() || profile.auth_url.is_some())
        {
            return Ok(GatewaySettings {
                base_url,
                username,
                password: password.reveal()?,
                originator,
                country: *country,
                zone,
            });
        }
        let needed = [
            ("base_url", profile.base_url.is_none()),
            ("username", profile.username.is_none()),
            ("password", self.password.is_none()),
            ("originator", profile.originator.is_none()),
            ("country_code", profile.country_code.is_none()),
            ("time_zone", profile.time_zone.is_none()),
            ("auth_url", self.needs_token() && profile.auth_url.is_none()),
        ];
        let missing = needed.iter().filter(|(_, absent)| *absent);
        Err(self.missing(missing.map(|(name, _)| *name)))
    }

    /// Refuses a password file that is not there or not to be trusted, before somebody has done work that needs it.
    ///
    /// # Errors
    /// What is wrong with the file, and the command that mends it.
    pub fn look_for_password(&self) -> Result<(), Error> {
        self.password.as_ref().map_or(Ok(()), Password::look)
    }

    /// Returns what limits payments, with its lists; `None` where nothing does.
    ///
    /// # Errors
    /// A list that is not there or not to be trusted, or one of its lines.
    pub fn payment_limits(&self) -> Result<Option<Arc<Limits>>, Error> {
        if self.limits.is_none() {
            return Ok(None);
        }
        let country = self.profile.country_code;
        let list = |key, file: &Option<(PathBuf, Origin)>| match file {
            None => Ok(None),
            Some((path, _)) => recipients::read(path, key, country, self.is_rehearsal)
                .map(|list| Some(Arc::new(list))),
        };
        Ok(Some(Arc::new(Limits {
            allow: list("limits.allow", &self.limits.allow)?,
            deny: list("limits.deny", &self.limits.deny)?,
            ..self.limits.limits.clone()
        })))
    }

    /// Returns the paying organisation, which every identifier is made from.
    ///
    /// # Errors
    /// It is not set.
    pub fn originator(&self) -> Result<&Originator, Error> {
        let originator = self.profile.originator.as_ref();
        originator.ok_or_else(|| self.missing(["originator"]))
    }

    /// Returns a value that one command needs, such as `profile.auth_url` under the name `auth_url`.
    ///
    /// # Errors
    /// It is not set.
    pub fn need<'a, T>(&self, name: &'static str, value: Option<&'a T>) -> Result<&'a T, Error> {
        value.ok_or_else(|| self.missing([name]))
    }

    /// Returns whether requests on the payment path carry a token.
    fn needs_token(&self) -> bool {
        let by_default = self.profile.payment_bearer;
        self.dialect.dialect.needs_token(by_default)
    }

    fn missing(&self, names: impl IntoIterator<Item = &'static str>) -> Error {
        let keys: Vec<&'static Key> = names.into_iter().filter_map(keys::find).collect();
        Error::Missing {
            profile: self.profile_name.clone(),
            keys,
            file: self.file.clone(),
        }
    }
}

/// Takes the password out of the layers. The sandbox has its own.
fn password(layers: &mut Layers, sandbox: bool) -> Option<(Password, Origin)> {
    if sandbox {
        return Some((Password::Given("sandbox".into()), Origin::Sandbox));
    }
    let given = layers.take("password");
    let file = layers.entry("password_file");
    secret::choose(
        given.map(|Entry { text, origin }| (SecretString::from(text), origin)),
        file.map(|entry| (PathBuf::from(&entry.text), entry.origin.clone())),
    )
}

/// Returns the profile's name, `None` when no source names one and none is needed to decide.
pub(super) fn choose_profile(
    sources: &Sources,
    document: &Document,
    file: &Result<PathBuf, Vec<PathBuf>>,
    sandbox: bool,
) -> Result<Option<String>, Error> {
    let flag = sources.profile.as_ref().map(|name| (name, Origin::Flag));
    let variable = sources
        .environment
        .get("DISBURSE_PROFILE")
        .map(|name| (name, Origin::Environment("DISBURSE_PROFILE")));
    let default = document
        .default_profile
        .as_ref()
        .map(|entry| (&entry.text, entry.origin.clone()));
    let known = || document.profiles.keys().cloned().collect::<Vec<_>>();
    if let Some((name, place)) = flag.or(variable).or(default) {
        let built_in = sandbox && name == "sandbox";
        if built_in || document.profiles.contains_key(name) {
            return Ok(Some(name.clone()));
        }
        return Err(Error::UnknownProfile {
            place,
            name: name.clone(),
            hint: suggest::profile(name, &known(), file.as_deref().ok()),
        });
    }
    match (document.profiles.len(), file) {
        (1, _) => Ok(document.profiles.keys().next().cloned()),
        (2.., Ok(file)) if !sandbox => Err(Error::NoProfile {
            file: file.clone(),
            known: known(),
        }),
        _ => Ok(None),
    }
}
