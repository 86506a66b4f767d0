import Foundation

/// Text for a shell command line.
enum ShellWords {
  private static let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+,:@%")

  /// A text as one word of a POSIX shell: unchanged if no shell interprets it, else quoted.
  static func word(_ text: String) -> String {
    !text.isEmpty && text.allSatisfy(plain.contains) ? text : quoted(text)
  }

  private static func quoted(_ text: String) -> String {
    "'" + text.replacingOccurrences(of: "'", with: #"'\''"#) + "'"
  }

  /// The command that makes `kvclone` run this program, such as one that was just built; nil if the shell finds it.
  ///
  /// - Parameters:
  ///   - program: the program's file.
  ///   - path: the shell's PATH. Another `kvclone` on it, such as an older one, is not this program.
  static func alias(for program: String = runningProgram, path: String) -> String? {
    let found = path.split(separator: ":").map { "\($0)/kvclone" }.first { file in
      var isFolder: ObjCBool = false
      let manager = FileManager.default
      return manager.fileExists(atPath: file, isDirectory: &isFolder) && !isFolder.boolValue
        && manager.isExecutableFile(atPath: file)
    }
    if let found, resolved(found) == resolved(program) { return nil }
    // The shell parses an alias again when it is used.
    return "alias kvclone=" + quoted(word(program))
  }

  /// The absolute path of the running program.
  static var runningProgram: String {
    let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    return link ?? URL(fileURLWithPath: CommandLine.arguments[0]).path
  }

  private static func resolved(_ path: String) -> String {
    URL(fileURLWithPath: path).resolvingSymlinksInPath().path
  }
}
