import Foundation
import Testing

/// Each completion script, loaded by its shell, with the completions of given lines.
@Suite("kvclone: completions")
struct CompletionTests {
  /// The input line, some of the expected completions, and whether these are all.
  private static let questions: [(line: String, offers: Set<String>, isAll: Bool)] = [
    ("kvclone s", ["salvage", "set", "snapshot", "stat"], true),
    ("kvclone clone --", ["--exclude", "--passing-exclusions", "--from-snapshot", "--blobs", "--json"], false),
    ("kvclone query Note TRUEPREDICATE --format ", ["table", "json", "csv", "ids"], true),
    ("kvclone model show --format s", ["svg"], true),
    ("kvclone clone --blobs ", ["share", "copy"], true),
    ("kvclone branch me", ["merge"], true),
    ("kvclone branch merge --policy ", ["ours", "theirs"], true),
    ("kvclone snapshot r", ["release", "rollback"], true),
    ("kvclone load notes.n", ["notes.ndjson"], true),
    ("kvclone backup -s sto", ["store"], false),
  ]

  /// Lines with completions from the store.
  private static let storeQuestions: [(line: String, offers: Set<String>, isAll: Bool)] = [
    ("kvclone ls -s store ", ["Base", "Item", "Note", "Summary", "Tag"], false),
    ("kvclone get -s store Note/", ["Note/1", "Note/2"], true),
    ("kvclone snapshot diff -s store mon", ["monday"], true),
    ("kvclone branch diff -s store spr", ["spring"], true),
    ("kvclone get -s store --branch spring Note/", ["Note/1", "Note/2", "Note/3"], true),
    ("kvclone get -s nothing Note/", [], true),
  ]

  /// Creates a store and the completion script of a shell.
  private func prepared(_ shell: String) throws -> Scratch {
    let scratch = try Scratch.filled(2)
    try scratch.succeed("snapshot", "create", "monday")
    try scratch.succeed("branch", "create", "spring")
    try scratch.succeed("insert", "Note", "--branch", "spring")
    try scratch.write("", to: "notes.ndjson")
    let script = try scratch.run(["--generate-completion-script", shell])
    try scratch.write(script.text, to: "_kvclone")
    return scratch
  }

  private func expectAnswers(
    _ shell: String, _ questions: [(line: String, offers: Set<String>, isAll: Bool)],
    _ ask: (Scratch, String) throws -> ToolRun
  ) throws {
    let scratch = try prepared(shell)
    for question in questions {
      let run = try ask(scratch, question.line)
      #expect(run.code == 0 && run.errors.isEmpty, "\(question.line): \(run.code) \(run.errors)")
      // A directory may be offered with a slash, and options with a description.
      let words = run.text.split(separator: "\n").map { line in
        var word = line.prefix { $0 != "\t" }
        while word.hasSuffix(" ") || word.hasSuffix("/") && question.line.contains("sto") { word.removeLast() }
        return String(word)
      }
      let isRight = question.isAll ? Set(words) == question.offers : Set(words).isSuperset(of: question.offers)
      #expect(isRight, "\(shell), \(question.line)⇥ offers \(words)")
    }
  }

  @Test(.enabled(if: Programs.has("bash"), "needs bash"))
  func bash() throws {
    let bash = try #require(Programs.path("bash"))
    let program = """
      source ./_kvclone
      COMP_LINE=$1
      COMP_POINT=${#COMP_LINE}
      read -ra COMP_WORDS <<< "$COMP_LINE"
      [[ $COMP_LINE == *' ' ]] && COMP_WORDS+=('')
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      COMPREPLY=()
      _kvclone kvclone "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
      (( ${#COMPREPLY[@]} == 0 )) || printf '%s\\n' "${COMPREPLY[@]}"
      """
    try expectAnswers("bash", Self.questions + Self.storeQuestions) { scratch, line in
      try scratch.runProgram(bash, ["--norc", "-c", program, "bash", line], isHere: true)
    }
  }

  @Test(.enabled(if: Programs.has("fish"), "needs fish"))
  func fish() throws {
    let fish = try #require(Programs.path("fish"))
    // Without a terminal, fish 3.6 does not pass the input line to scripts, so completions that call the tool fail.
    try expectAnswers("fish", Self.questions.filter { !$0.line.hasSuffix(" --") }) { scratch, line in
      try scratch.runProgram(
        fish, ["--no-config", "-c", "source ./_kvclone; complete -C $argv[1]", line], isHere: true)
    }
  }

  /// Completions that call the tool.
  @Test(.enabled(if: Programs.has("fish") && TerminalSession.isPossible, "needs fish and tmux"))
  func fishOnATerminal() throws {
    let scratch = try prepared("fish")
    let shell = #"fish --no-config -i -C 'source ./_kvclone; function fish_prompt; printf "> "; end'"#
    let options: [(line: String, offers: Set<String>, isAll: Bool)] = [
      ("kvclone clone --ex", ["--exclude"], true), ("kvclone clone --pas", ["--passing-exclusions"], true),
    ]
    for question in Self.storeQuestions + options where !question.offers.isEmpty {
      let terminal = try TerminalSession(columns: 100, shell: shell, in: scratch)
      try terminal.wait("a prompt") { try terminal.screen().contains { $0.hasPrefix(">") } }
      try terminal.press(question.line, "Tab")
      // Several completions are listed below the line; a single one completes it.
      let words = question.offers.count > 1 ? Array(question.offers) : question.offers.map { " \($0)" }
      try terminal.wait("\(question.line)⇥") {
        let screen = try terminal.screen()
        return words.allSatisfy { word in screen.contains { $0.contains(word) } }
      }
    }
  }

  /// A second shell on a pseudo-terminal receives the line and a tab. The completion system's additions to its list are
  /// written to a file.
  private static let zshProgram = #"""
    zmodload zsh/zpty || exit 1
    print -r -- 'PROMPT=
    fpath=($PWD $fpath)
    autoload -U compinit
    compinit -u -d $PWD/dump
    finished() { print -r -- FINI""SHED }
    comppostfuncs=(finished)
    bindkey "^I" complete-word
    compadd() {
      # Calls that only filter are for the builtin.
      if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
      typeset -a hits
      builtin compadd -A hits "$@"
      (( $#hits )) && print -rl -- $hits >> $PWD/hits
      builtin compadd "$@"
    }
    print -r -- REA""DY' > setup
    : > hits
    zpty shell zsh -f -i
    zpty -w shell "source ./setup"
    zpty -r shell said '*READY*' || exit 2
    zpty -w -n shell "$1"$'\t'
    zpty -r shell said '*FINISHED*' || exit 3
    zpty -d shell
    cat hits
    """#

  @Test(.enabled(if: Programs.has("zsh"), "needs zsh"))
  func zsh() throws {
    let zsh = try #require(Programs.path("zsh"))
    try expectAnswers("zsh", Self.questions + Self.storeQuestions) { scratch, line in
      try scratch.runProgram(zsh, ["-f", "-c", Self.zshProgram, "zsh", line], isHere: true)
    }
  }
}
