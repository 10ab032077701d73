//! Texts that give a secret away, and texts that don't.
//!
//! No secret here is real. They are joined from halves, so that those who look for
//! leaked secrets in sources find none.

use proptest::prelude::*;

use super::*;

/// A secret within a sentence, and what it is told to be.
fn secrets() -> Vec<(&'static str, String)> {
    let body = "Zq8Lw3Xn5Bv7Kd2Mf9Tp4Rj6Hs1Gc0YaUeIoNb";
    let hex = "9f86d081884c7d659a2feaa0c55ad015";
    let upper = "Q3XN5BV7KD2MF9TP";
    let claims = "yJzdWIiOiIxMjM0NTY3ODkwIn0";
    vec![
        ("a private key", format!("-----BEGIN RSA {} KEY-----\nMIIEow\n-----END", "PRIVATE")),
        ("a private key", format!("-----BEGIN OPENSSH {} KEY-----\nb3BlbnNz", "PRIVATE")),
        ("a private key", format!("key:\n-----BEGIN {} KEY-----\nMC4C", "PRIVATE")),
        ("a private key", format!("-----BEGIN PGP {} KEY BLOCK-----\n\nlQOY", "PRIVATE")),
        ("a private key", format!("PuTTY-User-{}-3: ssh-ed25519", "Key-File")),
        ("an AWS key", format!("AWS is {}{upper}", "AKIA")),
        ("an AWS key", format!("temporary {}{upper}.", "ASIA")),
        ("a GitHub token", format!("use {}_{body} for pushing", "ghp")),
        ("a GitHub token", format!("{}_{body}", "gho")),
        ("a GitHub token", format!("({}_{body})", "ghs")),
        ("a GitHub token", format!("{}_{body}", "ghu")),
        ("a GitHub token", format!("token={}_pat_11AB_{body}", "github")),
        ("a GitLab token", format!("{}-{}", "glpat", &body[..20])),
        ("an OpenAI key", format!("my key {}-{body}", "sk")),
        ("an OpenAI key", format!("OPENAI_API_KEY={}-proj-{body}_x", "sk")),
        ("an Anthropic key", format!("{}-ant-api03-{body}", "sk")),
        ("an OpenRouter key", format!("{}-or-v1-{hex}{hex}", "sk")),
        ("a Slack token", format!("{}-2048-4096-{body}", "xoxb")),
        ("a Slack token", format!("{}-2048-4096-{body}", "xoxp")),
        ("a Stripe key", format!("{}_live_{body}", "sk")),
        ("a Stripe key", format!("{}_live_{body}", "rk")),
        ("a Google key", format!("maps: {}{}", "AIza", &body[..35])),
        ("an npm token", format!("{}_{}", "npm", &body[..36])),
        ("a PyPI token", format!("{}-AgEIcHlwaS5vcmc{body}", "pypi")),
        ("a Hugging Face token", format!("{}_{}", "hf", &body[..34])),
        ("a Groq key", format!("{}_{body}", "gsk")),
        ("a web token", format!("e{}.e{claims}.{body}", "yJhbGciOiJIUzI1NiJ9")),
        ("a web token", format!("Bearer e{}.e{claims}.{body}", "yJhbGciOiJIUzI1NiJ9")),
        ("a Telegram bot token", format!("the bot is 7{}:AA{}", "31415926", &body[..33])),
        ("a Discord token", format!("MTIz{}.Gx7Yz1.{}", "NDU2Nzg5MDEyMzQ1Njc4", &body[..38])),
        ("an address with a password", "db: postgres://app:s3cr3tPW@db.local/app".into()),
        ("an address with a password", "https://bob:hunter22@example.org/feed".into()),
        ("the address of a webhook", {
            format!("https://hooks.slack.com/{}/T01ABCDEF/B02GHIJKL/{}", "services", &body[..24])
        }),
        ("a password", "The wifi password is Blue42Sky!".into()),
        ("a password", "password: hunter2".into()),
        ("a password", "Password for the router at home is tr0ub4dor&3".into()),
        ("a password", "DB_PASSWORD=correct-horse-battery-staple".into()),
        ("a password", "My laptop's passphrase is \"swordfish\"".into()),
        ("a password", "the passcode is 482915".into()),
        ("a password", "Das WLAN-Passwort lautet Sonne2024!".into()),
        ("a password", "mot de passe : Soleil#99".into()),
        ("a password", "WiFi密码是abc12345".into()),
        ("a password", "Wi-Fiのパスワードはneko4649です".into()),
        ("a password", "пароль: Zima2025!".into()),
        ("a key or token", format!("api key: {hex}")),
        ("a key or token", format!("The API key for the weather is {hex}")),
        ("a key or token", format!("aws_secret_access_key = wJ{}/K7M{}", "alrXUtnFEMI", body)),
        ("a key or token", format!("client_secret: \"{}~x.{}\"", "Ab8Q", &body[..20])),
        ("a key or token", format!("Authorization: Bearer {}", &hex[..24])),
        ("a key or token", "token=q7x9-44ab-z0p3".into()),
        ("a key or token", "Authorization: Bearer mytoken2026".into()),
        ("a key or token", "curl -H 'authorization: token 8charsX1'".into()),
        ("a key or token", "\"Authorization\": \"Bearer abcDEFghiJKL\"".into()),
        ("a password", "Authorization: Basic dXNlcjpwYXNz".into()),
        ("a password", "curl -H \"Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\"".into()),
        ("a password", "proxy-authorization: basic Ym9iOmh1bnRlcjI=, says Anna".into()),
        ("a password", "It wants Basic Ym9iOmh1bnRlcjI".into()),
        ("a Slack token", format!("{}-123-456-abcDEF", "xoxb")),
        ("a Slack token", format!("the bot has {}-123-456-789-abcdef.", "xoxp")),
        ("a Slack token", format!("SLACK={}-2-{}", "xoxe", &body[..20])),
        ("an address with a password", "ftp://bob:hunter22@files.example.org".into()),
        ("an address with a password", "sftp://bob:hunter22@10.0.0.2:2222/home".into()),
        ("an address with a password", "smtps://me%40x.org:hunter22@mail.x.org:465".into()),
        ("an address with a password", "REDIS_URL=redis://:hunter22@cache:6379/0".into()),
        ("an address with a password", "mongodb+srv://app:hunter22@cluster0.x.net/db".into()),
        ("an address with a password", "amqps://app:hunter22@mq/vhost".into()),
        ("an address with a password", "jdbc:postgresql://app:hunter22@db/app".into()),
        ("an address with a password", "socks5h://u:hunter22@proxy:1080".into()),
        ("an address with a password", "rtsp://admin:hunter22@192.168.1.9/stream".into()),
        ("an address with a password", "sip:alice:hunter22@pbx.example.org".into()),
        ("a PIN or code", "my PIN is 4711".into()),
        ("a PIN or code", "The PIN of my card is 471199.".into()),
        ("a PIN or code", "PIN: 0042".into()),
        ("a PIN or code", "SIM card: PIN 4711, PUK 12345678".into()),
        ("a PIN or code", "PUK = 12345678".into()),
        ("a PIN or code", "my pin code is \"4711\"".into()),
        ("a PIN or code", "the door code is 99812#".into()),
        ("a PIN or code", "Door code 99812#, second floor".into()),
        ("a PIN or code", "The alarm code for the office is *2580".into()),
        ("a PIN or code", "gate code: 1111".into()),
        ("a PIN or code", "Die PIN lautet 4711".into()),
        ("a PIN or code", "Der Türcode ist 2580".into()),
        ("a seed phrase", format!("my seed phrase is {}", words(12))),
        ("a seed phrase", format!("Seed phrase of the wallet:\n{}.", words(24))),
        ("a seed phrase", format!("recovery phrase: {}", words(15).replace(' ', ", "))),
        ("a seed phrase", format!("The mnemonic \"{}\" opens it", words(18))),
        ("a seed phrase", format!("Recovery phrase for Ledger = {} and keep it safe", words(21))),
        ("a seed phrase", {
            let numbered = words(12)
                .split(' ')
                .enumerate()
                .fold(String::new(), |all, (at, word)| format!("{all}{}. {word}\n", at + 1));
            format!("Seed words:\n{numbered}")
        }),
        ("a seed phrase", format!("wallet seed: Abandon {}", words(11))),
        ("a seed phrase", format!("Seed phrase Metamask {}", words(12))),
        ("a seed phrase", format!("seed phrase: {}, keep safe", words(12))),
        ("a seed phrase", format!("SEED PHRASE: {}", words(12).to_uppercase())),
        ("a long random string", format!("It is {body}")),
        (
            "a long random string",
            format!("keep {}+{}/{}==", &body[..14], &body[5..20], &body[9..22]),
        ),
    ]
}

/// The first words that are not those of a wallet.
fn words(count: usize) -> String {
    const WORDS: [&str; 24] = [
        "ladder", "ocean", "pencil", "rabbit", "summer", "tiger", "under", "velvet", "winter",
        "yellow", "zebra", "anchor", "basket", "candle", "dolphin", "engine", "forest", "garden",
        "hammer", "island", "jungle", "kitten", "lemon", "mirror",
    ];
    WORDS[..count].join(" ")
}

const HARMLESS: [&str; 113] = [
    "change the PIN next week",
    "the PIN has four digits",
    "The PIN is 4 digits long",
    "The PIN is 1000 digits long, it feels",
    "The PIN is changed every 90 days",
    "The PIN expires in 2027",
    "PIN entry is broken since 2024",
    "My PIN is the year Anna was born",
    "PIN: ask Anna",
    "The LED is on pin 13",
    "pin 2026 goals to the top",
    "The pin is 2500 mm long",
    "Pins 1000 and 1001 are free",
    "He was spinning 4711 times",
    "The door code is with Anna",
    "The door code is changed in 2026",
    "The access code is printed on the letter of 2025-11-15",
    "The zip code is 90210",
    "My postal code is 10115",
    "The area code is 0301",
    "The error code is 40412",
    "exit code: 1012",
    "The source code is 12000 lines long",
    "promo code 20245 gives ten percent",
    "seed phrase backup is in the safe",
    "The recovery phrase must never leave the house because thieves could then take every coin",
    "A seed phrase has 12, 15, 18, 21 or 24 words",
    "The mnemonic for the planets is: my very eager mother just served us nachos",
    "mnemonic devices help to learn vocabulary",
    "Write the recovery phrase on paper, never on a computer; keep two copies apart",
    "Basic auth is used by the old API",
    "Authorization: Basic authentication is switched off",
    "Authorization: Basic <credentials>",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $API_TOKEN",
    "Authorization: Bearer tokens are short-lived",
    "sip:alice@pbx.example.org:5060 is my phone",
    "xoxb-your-token-here is what the manual says",
    "access token: 2026-11-15T10:00:00Z is its end",
    "My password manager is Bitwarden",
    "My password manager is 1Password",
    "The password is changed monthly",
    "The wifi password is on the fridge",
    "password is stored in KeePassXC under Home",
    "Password: ask Anna",
    "The password is a 20-character string",
    "The passwords are SHA-256 hashed",
    "The password is case-sensitive",
    "password hashing is argon2id",
    "Password rules: at least 12 characters, one digit",
    "the token limit is 128000",
    "max_tokens=4096",
    "tokens: 8192",
    "The tokenizer is o200k_base",
    "tokenizer = Qwen2.5-Coder-32B-Instruct",
    "token budget: 8,192 for history",
    "token_limit: 200000",
    "The secret of good bread is 72-hour fermentation",
    "Her secret ingredient is nutmeg",
    "Secret Santa for 2026 is Priya",
    "The API key is in the environment as OPENAI_API_KEY",
    "api key: $OPENAI_API_KEY",
    "api_key = <your key>",
    "password=********",
    "password: xxxxxxxx",
    "API keys belong in ~/.config/recto/keys.toml",
    "the API key for staging is rotated quarterly",
    "sk-learn is called scikit-learn on PyPI",
    "The branch is sk-refactor-payment-gateway-2024-final",
    "npm_config_registry points to the mirror",
    "hf_transfer makes downloads faster",
    "ghp_ tokens are GitHub's",
    "pypi-publish-on-tag-and-release-workflow is the job",
    "AKIA is the prefix of AWS keys",
    "Commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b broke the build",
    "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8 is the host's fingerprint",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl sam",
    "The order is 550e8400-e29b-41d4-a716-446655440000",
    "Order 550E8400-E29B-41D4-A716-446655440000 arrived",
    "Call Anna at +49 170 1234567",
    "Telephone: (555) 010-4477",
    "ISBN 978-3-16-148410-0",
    "IBAN DE89 3704 0044 0532 0130 00",
    "The notes are in /home/sam/Documents/Projects2026/RectoNotes/Ideas/MemoryLayer.md",
    "src/components/UserProfile/UserProfileCardHeader2.tsx renders the card",
    "C:\\Users\\Sam\\AppData\\Local\\Programs\\Python313\\python.exe",
    "https://docs.google.com/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit",
    "https://example.org/a/very/long/path/With-Some-Words-And-2026-Numbers",
    "Mail sam@example.org or anna.lee@example.com",
    "ssh://git@github.com/sam/recto.git is the remote",
    "postgres://user:password@localhost/db is the form of the address",
    "postgres://app:$DB_PASSWORD@db/app",
    "http://127.0.0.1:11434/api/tags lists the models",
    "The meeting is at 10:30 in room 4.12",
    "The dentist is on Tuesday 2026-11-17 at 08:15",
    "My flight is LH1234 at 06:40, booking X7K9QP",
    "The model is Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf",
    "all-MiniLM-L6-v2 has 384 dimensions",
    "VeryLongClassNameForTheAbstractSingletonProxyFactoryBean2",
    "supercalifragilisticexpialidocious-and-even-more-words-42",
    "I prefer brief answers",
    "Anna's birthday is 12 March 1984",
    "The car's plate is B-XY 1234",
    "The invoice RE-2026-000481 is over 1.234,56 €",
    "我的生日是1984年3月12日",
    "我用Bitwarden管理密码",
    "会議は来週の火曜日10時半から第二会議室で行います",
    "パスワードは毎月変更する",
    "비밀번호는 매달 바꾼다",
    "Мой пароль хранится в менеджере",
    "A token of appreciation: flowers for Maria",
    "eyJ is how JSON begins in base64",
];

#[test]
fn secrets_are_found_with_their_kind_and_place() {
    let told = |text: &str| {
        let secret = find_secret(text)?;
        text.get(secret.range).filter(|it| it.len() >= 4).map(|_| secret.what)
    };
    let wrong = secrets().into_iter().map(|(what, text)| (what, told(&text), text));
    let wrong: Vec<_> = wrong.filter(|(what, told, _)| Some(*what) != *told).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_people_remember_otherwise_is_no_secret() {
    let wrong: Vec<_> =
        HARMLESS.iter().filter_map(|text| Some((*text, find_secret(text)?))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_place_is_that_of_the_secret_alone() {
    let place = |text: &str| text[find_secret(text).unwrap().range].to_owned();
    assert_eq!(place("The wifi password is Blue42Sky!, says Anna"), "Blue42Sky");
    assert_eq!(place("https://bob:hunter22@example.org/feed"), "hunter22");
    assert_eq!(place("the door code is (99812#), says Anna"), "99812#");
    assert_eq!(place("My PIN for 0815 is 0815, too"), "0815");
    assert_eq!(place("Basic Ym9iOmh1bnRlcjI=."), "Ym9iOmh1bnRlcjI");
    assert_eq!(place("Authorization: Bearer mytoken2026."), "mytoken2026");
    assert_eq!(place(&format!("My seed phrase: {}. Keep it.", words(12))), words(12));
    assert_eq!(place("密码：\"abc12345\"。"), "abc12345");
    let block = format!("-----BEGIN {0} KEY-----\nMC4C\n-----END {0} KEY-----", "PRIVATE");
    assert_eq!(place(&format!("a\n{block}\nb")), block);
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in any::<String>()) {
        if let Some(secret) = find_secret(&text) {
            prop_assert!(text.get(secret.range).is_some());
        }
    }

    #[test]
    fn names_and_marks_in_any_order_are_read(
        parts in prop::collection::vec(prop::sample::select(vec![
            "password", "İ", "密码", "是", ":", "=", " ", "is", "for", "\"", "://", "@", "a", "AKIA",
            "9", "eyJ", ".", "-----BEGIN ", "PRIVATE KEY", "-----", "bearer", "ß", "’", "call me",
            "always", "\n", "pin", "door code", "#", "4711", "seed phrase", "wörter ", "basic ",
            "authorization", "token ", "xoxb-", "123-", "sip:",
        ]), 0..24)
    ) {
        let text = parts.concat();
        if let Some(secret) = find_secret(&text) {
            prop_assert!(text.get(secret.range).is_some());
        }
    }
}
