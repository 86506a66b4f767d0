#if Explorer
  import Foundation

  enum Browser {
    /// Opens a URL in the default browser, without waiting for it. Returns false if the program for it cannot start.
    static func open(_ url: String) -> Bool {
      let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
      let programs = folders.map { "\($0)/xdg-open" }
      guard let program = programs.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
        return false
      }
      let process = Process()
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = [url]
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      return (try? process.run()) != nil
    }
  }
#endif
