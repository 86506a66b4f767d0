#if Postgres
  package import Foundation
  import Glibc

  /// A PostgreSQL server of one test: in a temporary directory, with a Unix socket, and without syncs.
  ///
  /// Several servers can be addressed together: `host=` takes the directories of all.
  package final class ServerInstance: @unchecked Sendable {
    /// The directory of `initdb` and `pg_ctl`, or nil if no server is installed.
    package static let programs: String? = {
      let manager = FileManager.default
      let versions = (try? manager.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
      let places =
        versions.sorted().reversed().map { "/usr/lib/postgresql/\($0)/bin" } + ["/usr/local/bin", "/usr/bin"]
      return places.first { manager.isExecutableFile(atPath: $0 + "/initdb") }
    }()

    /// Whether tests can start servers.
    package static var isAvailable: Bool { programs != nil }

    /// The directory of the socket and of the log.
    package let directory: String
    /// The directory of the data.
    package let data: String
    private let settings: [String: String]

    /// Initializes and starts a server with the superuser `kvclone` and the database `postgres`.
    ///
    /// - Parameters:
    ///   - settings: settings of the server, such as `max_connections`.
    ///   - access: the lines of `pg_hba.conf`; all local users without passwords by default.
    ///   - disk: the directory for the data, such as a small file system; the temporary directory by default.
    package init(settings: [String: String] = [:], access: [String]? = nil, disk: String? = nil) throws {
      directory = try Self.makeDirectory()
      data = (disk ?? directory) + "/data"
      self.settings = settings
      if let disk { try Self.run(["chown", "postgres:", disk], asServer: false) }
      try Self.run([
        try Self.program("initdb"), "-D", data, "-A", "trust", "-U", "kvclone", "--no-sync", "-E", "UTF8",
      ])
      if let access {
        try Data((access.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: data + "/pg_hba.conf"))
      }
      try start()
    }

    /// Copies a running server, and starts the copy as its standby.
    ///
    /// - Parameter name: its `application_name`, by which `synchronous_standby_names` of the primary lists it.
    package init(standbyOf primary: ServerInstance, name: String, settings: [String: String] = [:]) throws {
      directory = try Self.makeDirectory()
      data = directory + "/data"
      self.settings = settings
      try Self.run([
        try Self.program("pg_basebackup"), "-D", data, "-R", "-c", "fast", "--no-sync", "-d",
        primary.address + " application_name=\(name)",
      ])
      try start()
    }

    deinit {
      stop()
      try? FileManager.default.removeItem(atPath: directory)
      try? FileManager.default.removeItem(atPath: data)
    }

    private static func makeDirectory() throws -> String {
      // The path of a Unix socket has at most 107 bytes.
      let directory = "/tmp/kvclone-server-\(UInt32.random(in: 0..<(.max)))"
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
      if getuid() == 0 { try run(["chown", "postgres:", directory], asServer: false) }
      return directory
    }

    /// The address of the server, for libpq.
    package var address: String {
      "host=\(directory) user=kvclone dbname=postgres" + (settings["port"].map { " port=\($0)" } ?? "")
    }

    /// Starts the server, and waits until it takes connections.
    package func start() throws {
      var options = "-c listen_addresses='' -c unix_socket_directories='\(directory)'"
      let defaults = ["fsync": "off", "max_connections": "100", "shared_buffers": "32MB", "wal_keep_size": "1GB"]
      for (name, value) in defaults.merging(settings, uniquingKeysWith: { $1 }).sorted(by: { $0.key < $1.key }) {
        options += " -c \(name)='\(value)'"
      }
      try control("start", "-w", "-l", directory + "/server.log", "-o", options)
    }

    /// Stops the server, if it runs.
    ///
    /// - Parameter mode: `immediate` as by a crash, or `fast` after a checkpoint.
    package func stop(_ mode: String = "immediate") { try? control("stop", "-w", "-m", mode) }

    /// Makes a standby the primary, and waits until it takes writes.
    package func promote() throws { try control("promote", "-w") }

    /// Reads the configuration again.
    package func reload() throws { try control("reload") }

    /// The id of the first process of the server; nil if it does not run.
    package var processID: pid_t? {
      guard let text = try? String(contentsOfFile: data + "/postmaster.pid", encoding: .utf8) else { return nil }
      return text.split(separator: "\n").first.flatMap { pid_t($0) }
    }

    /// Kills all processes of the server without a warning, and waits for their end.
    package func kill() {
      guard let first = processID else { return }
      let children = (try? Self.run(["pgrep", "-P", "\(first)"], asServer: false)) ?? ""
      let all = [first] + children.split(separator: "\n").compactMap { pid_t($0) }
      // The first one not to start others.
      for process in all { Foundation.kill(process, SIGKILL) }
      while all.contains(where: { Foundation.kill($0, 0) == 0 && !Self.isZombie($0) }) { usleep(2_000) }
    }

    /// The first process is a child of init, which collects it at any time.
    private static func isZombie(_ process: pid_t) -> Bool {
      guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return true }
      return text.split(separator: ")").last?.split(separator: " ").first == "Z"
    }

    /// Sends a signal to the process of the server with a description, such as `walreceiver`.
    ///
    /// - Returns: whether there is one.
    package func signal(_ description: String, _ signal: Int32) throws -> Bool {
      guard let first = processID else { return false }
      let found = (try? Self.run(["pgrep", "-P", "\(first)", "-f", description], asServer: false)) ?? ""
      guard let process = found.split(separator: "\n").first.flatMap({ pid_t($0) }) else { return false }
      return Foundation.kill(process, signal) == 0
    }

    /// Runs statements by `psql`, and returns the fields of the result, unaligned.
    @discardableResult
    package func sql(_ text: String) throws -> String {
      try Self.run([try Self.program("psql"), "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", address, "-c", text])
        .trimmingCharacters(in: .newlines)
    }

    private func control(_ arguments: String...) throws {
      try Self.run([try Self.program("pg_ctl"), "-D", data, "-s"] + arguments)
    }

    package struct Failure: Error, CustomStringConvertible {
      package let description: String
    }

    package static func program(_ name: String) throws -> String {
      guard let programs else { throw Failure(description: "no PostgreSQL server is installed") }
      return programs + "/" + name
    }

    /// Closes all descriptors of this process but the first three, which a server would keep open.
    private static let closing =
      "for f in /proc/$$/fd/*; do n=${f##*/}; [ $n -lt 3 ] || eval \"exec $n>&-\"; done; cd /tmp; exec \"$@\""

    /// Runs a program, and returns its output.
    ///
    /// - Parameter asServer: whether it runs as the user of servers, if this process runs as root: servers refuse root.
    @discardableResult
    package static func run(_ command: [String], asServer: Bool = true) throws -> String {
      let asUser =
        asServer && getuid() == 0
        ? ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups", "env", "HOME=/tmp"] : []
      // A file, not a pipe: a server that is started keeps it open.
      let output = "/tmp/kvclone-output-\(UInt32.random(in: 0..<(.max)))"
      defer { unlink(output) }
      let status = try spawn(["/bin/bash", "-c", Self.closing, "bash"] + asUser + command, output: output)
      let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
      if status != 0 {
        throw Failure(description: "\(command.prefix(2).joined(separator: " ")) failed: \(text.suffix(500))")
      }
      return text
    }

    /// Runs a program, and returns its exit status. Foundation's `Process` would wait for the end of all processes that
    /// it starts, also for that of a server.
    private static func spawn(_ command: [String], output: String) throws -> Int32 {
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
      posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o666)
      posix_spawn_file_actions_adddup2(&actions, 1, 2)
      var arguments = command.map { strdup($0) } + [nil]
      defer { for argument in arguments { free(argument) } }
      var process: pid_t = 0
      let code = posix_spawn(&process, command[0], &actions, nil, &arguments, environ)
      guard code == 0 else {
        throw Failure(description: "\(command[0]) could not be run: \(String(cString: strerror(code)))")
      }
      var status: Int32 = 0
      while waitpid(process, &status, 0) < 0, errno == EINTR {}
      return status & 0x7F == 0 ? status >> 8 & 0xFF : -1
    }
  }
#endif
