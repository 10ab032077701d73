//! How names, files, addresses and command lines are spelled. Nothing about meaning.

use super::WordList;

/// Extensions that make a dotted word a file name. Words that people type after a full stop
/// without a space (`so`, `me`, `app`) are left out.
pub(in crate::mode::words) static EXTENSIONS: WordList = WordList::new(
    "7z aac avi bak bash bat bin bmp bz2 c cc cfg class cmd conf cpp cs css csv dart dat db deb \
     diff djvu dll dmg doc dockerfile docx eml env epub exe fish flac gguf gif go gpx gradle \
     graphql gz h hpp hs htm html ico ics iml ini ipynb iso jar java jpeg jpg js json jsonl jsx \
     kml kt kts less lock log lua m4a md mdx mkv mobi mov mp3 mp4 mpg msi odp ods odt ogg onnx \
     opml parquet patch pcap pdf pem php pkl pl plist png ppt pptx proto ps1 psd py pyc r rar \
     rb rs rst rtf safetensors sass scss sh sql sqlite sqlite3 srt svelte svg swift swp tar tex \
     tgz tif tiff tmp toml ts tsv tsx ttf txt vcf vhdx vtt vue wasm wav webm webp whl wma woff \
     woff2 xls xlsm xlsx xml xz yaml yml zig zip zsh zst",
);

/// Hidden files and directories, without their dot.
pub(in crate::mode::words) static DOT_FILES: WordList = WordList::new(
    "aws bash_history bash_profile bashrc cargo config dockerignore editorconfig env eslintrc \
     git gitattributes github gitignore gitmodules kube local npmrc nvmrc prettierrc profile \
     ssh venv vimrc vscode zprofile zshrc",
);

/// Products that are spelled like a file name or a domain.
pub(in crate::mode::words) static PRODUCTS_SPELLED_LIKE_FILES: WordList = WordList::new(
    ".net alpine.js angular.js asp.net backbone.js c.ai chart.js console.log d3.js discord.js \
     draw.io ember.js express.js monday.com next.js node.js nuxt.js p5.js react.js socket.io \
     three.js vb.net vue.js",
);

/// The last part of a web address that is written without `https://`. Those that are extensions
/// too (`rs`, `sh`, `py`) are left out.
pub(in crate::mode::words) static TOP_LEVEL_DOMAINS: WordList =
    WordList::new("ai at ch co com de dev es eu fr io it net nl org pt uk us");

/// Short forms whose full stop does not end a sentence.
pub(in crate::mode::words) static ABBREVIATIONS: WordList =
    WordList::new("approx ca cf dr etc inc incl jr mr mrs ms no nr p pp prof resp sr st vs z.b");

/// Names that directories usually have: `docs/intro` is a path, `his/her` is not.
pub(in crate::mode::words) static DIRECTORIES: WordList = WordList::new(
    "archive archives assets backup backups bin build config configs content crates data \
     desktop dist doc docs documents downloads etc examples feature fixtures home hotfix images \
     img include invoices lib libs logs media memory mnt modules node_modules notes opt origin \
     packages photos pictures projects public recordings release reports resources root scripts \
     server skills spec specs src static target templates test tests tmp tools usr utils var \
     vendor videos workspace",
);

/// Programs whose names are no English words: at the head of a message they are typed to be run.
pub(in crate::mode::words) static PROGRAMS: WordList = WordList::new(
    "awk bash brew btop cargo cd chmod chown cmake cp crontab curl df dig dmesg docker du env \
     ffmpeg gcc gh git gradle grep gunzip gzip htop ifconfig ip journalctl jq kubectl launchctl \
     ls lsblk lsof mkdir mount mv mvn mysql nano netstat nmap npm npx nslookup nvidia ollama \
     openssl pip pip3 pipx pnpm ps psql pwd pytest python3 rg rm rmdir rsync rustc rustup scp \
     sed sha256sum sqlite3 ss ssh stat sudo systemctl tar terraform tmux traceroute uname unzip \
     uv vim wget whoami xargs yarn zip",
);

/// Programs whose names are words as well: only a flag or a path behind them makes a command line.
pub(in crate::mode::words) static PROGRAMS_THAT_ARE_WORDS: WordList = WordList::new(
    "at cat column cut date deno diff dotnet echo find fold go head helm java join kill less ln \
     locate make man more node perl php ping poetry python ruby rustup screen service sort \
     split tail tee test time top touch tree type uniq watch wc which who",
);

/// The second word of a command line.
pub(in crate::mode::words) static SUBCOMMANDS: WordList = WordList::new(
    "add apply attach bisect blame branch build bundle cat check checkout cherry clean clippy \
     clone commit compose config create daemon describe destroy diff disable down enable exec \
     fetch fmt freeze get images info init inspect install link list log login logs ls merge \
     mod mount new outdated prune ps publish pull push rebase reload remove reset restart \
     restore revert rm rmi rollout run search serve show start stash status stop switch sync \
     tag test top tree uninstall up update upgrade version",
);

/// What precedes a command line inside a sentence: "run npm test".
pub(in crate::mode::words) static RUN_VERBS: WordList =
    WordList::new("exec execute invoke launch rerun run start try type");
