#if Postgres
  import Foundation
  import Glibc
  import KVCloneTestSupport

  /// Three PostgreSQL servers that Patroni manages by etcd, in a temporary directory and on free ports of this machine.
  final class PatroniCluster {
    private static let nodeCount = 3

    /// Whether the tests start it: they take minutes, and need the Debian packages `patroni` and `etcd-server`.
    static var isEnabled: Bool {
      ProcessInfo.processInfo.environment["KVCLONE_PATRONI"] == "1" && ServerInstance.isAvailable
    }

    private let directory: String
    private let ports: [Int]
    private var etcd: Process?
    private var nodes = [Process?](repeating: nil, count: nodeCount)
    /// The address of all servers, which leads to the primary.
    let address: String

    /// Starts etcd and the nodes, and waits for a primary with two standbys.
    init() throws {
      directory = "/tmp/kvclone-patroni-\(UInt32.random(in: 0..<(.max)))"
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
      if getuid() == 0 { try ServerInstance.run(["chown", "postgres:", directory], asServer: false) }
      let free = try Self.freePorts(2 + 2 * Self.nodeCount)
      let (client, peer) = ("http://127.0.0.1:\(free[0])", "http://127.0.0.1:\(free[1])")
      ports = Array(free[2..<2 + Self.nodeCount])
      let hosts = Array(repeating: "127.0.0.1", count: Self.nodeCount).joined(separator: ",")
      address =
        "host=\(hosts) port=\(ports.map { "\($0)" }.joined(separator: ",")) user=kvclone dbname=postgres "
        + "target_session_attrs=read-write"
      etcd = try start(
        "etcd",
        [
          "etcd", "--data-dir", directory + "/etcd", "--listen-client-urls", client, "--advertise-client-urls", client,
          "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer,
          "--unsafe-no-fsync",
        ])
      for node in 0..<Self.nodeCount {
        let text = try configuration(node, api: free[2 + Self.nodeCount + node], etcd: free[0])
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(directory)/node\(node).yml"))
        try start(node: node)
      }
      try waitForStandbys()
    }

    deinit {
      stop()
      try? FileManager.default.removeItem(atPath: directory)
    }

    /// Ends all processes.
    func stop() {
      for node in 0..<Self.nodeCount { kill(node: node) }
      etcd?.kill()
      etcd = nil
    }

    /// Starts a node. A former primary becomes a standby.
    func start(node: Int) throws {
      nodes[node] = try start("node\(node)", ["patroni", "\(directory)/node\(node).yml"])
    }

    /// Kills the primary and the Patroni that manages it, and returns their node.
    func killPrimary() throws -> Int {
      let port = Int(try sql("SELECT inet_server_port()"))
      guard let node = ports.firstIndex(where: { $0 == port }) else { throw CampaignFailure("no primary") }
      kill(node: node)
      return node
    }

    /// Waits until all other servers receive from the primary, and until Patroni would promote one of them.
    func waitForStandbys() throws {
      let receivers = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
      try FailoverWriters.wait("the nodes do not become standbys") {
        guard (try? sql(receivers)) == "\(Self.nodeCount - 1)" else { return false }
        // The server confirms commits by any standby before Patroni has chosen one, and has recorded it in etcd.
        let members = try? ServerInstance.run(["patronictl", "-c", "\(directory)/node0.yml", "list", "-f", "json"])
        return members?.contains("Sync Standby") ?? false
      }
    }

    private func kill(node: Int) {
      // First the manager: it restarts its server.
      nodes[node]?.kill()
      nodes[node] = nil
      guard let text = try? String(contentsOfFile: "\(directory)/data\(node)/postmaster.pid", encoding: .utf8),
        let first = text.split(separator: "\n").first.flatMap({ pid_t($0) })
      else { return }
      let children = (try? ServerInstance.run(["pgrep", "-P", "\(first)"], asServer: false)) ?? ""
      for process in [first] + children.split(separator: "\n").compactMap({ pid_t($0) }) {
        Glibc.kill(process, SIGKILL)
      }
    }

    private func sql(_ text: String) throws -> String {
      try ServerInstance.run([
        try ServerInstance.program("psql"), "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", address + " connect_timeout=2",
        "-c", text,
      ]).trimmingCharacters(in: .newlines)
    }

    /// Starts a program as the user of servers, with its output in a log.
    private func start(_ name: String, _ command: [String]) throws -> Process {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      let asUser =
        getuid() == 0
        ? ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups", "env", "HOME=/tmp"] : []
      process.arguments = asUser + command
      process.currentDirectoryURL = URL(fileURLWithPath: "/tmp")
      let log = "\(directory)/\(name).log"
      try Data().write(to: URL(fileURLWithPath: log))
      let output = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
      process.standardOutput = output
      process.standardError = output
      process.standardInput = FileHandle.nullDevice
      try process.run()
      return process
    }

    private func configuration(_ node: Int, api: Int, etcd: Int) throws -> String {
      """
      scope: kvclone
      name: node\(node)
      restapi:
        listen: 127.0.0.1:\(api)
        connect_address: 127.0.0.1:\(api)
      etcd3:
        host: 127.0.0.1:\(etcd)
      bootstrap:
        dcs:
          ttl: 10
          loop_wait: 2
          retry_timeout: 3
          synchronous_mode: true
          synchronous_mode_strict: true
          postgresql:
            use_pg_rewind: true
            parameters:
              synchronous_commit: "on"
              max_connections: 100
              shared_buffers: 32MB
        initdb:
          - encoding: UTF8
          - data-checksums
        pg_hba:
          - local all all trust
          - host all all 127.0.0.1/32 trust
          - host replication all 127.0.0.1/32 trust
      postgresql:
        listen: 127.0.0.1:\(ports[node])
        connect_address: 127.0.0.1:\(ports[node])
        data_dir: \(directory)/data\(node)
        bin_dir: \(ServerInstance.programs ?? "")
        pgpass: \(directory)/pgpass\(node)
        authentication:
          superuser:
            username: kvclone
          replication:
            username: replicator
          rewind:
            username: kvclone
        parameters:
          unix_socket_directories: \(directory)

      """
    }

    /// Returns ports that no process uses.
    private static func freePorts(_ count: Int) throws -> [Int] {
      var descriptors: [Int32] = []
      defer { for descriptor in descriptors { close(descriptor) } }
      return try (0..<count).map { _ in
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        descriptors.append(descriptor)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
          $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
          }
        }
        guard isBound else { throw CampaignFailure("no free port") }
        return Int(UInt16(bigEndian: address.sin_port))
      }
    }
  }

  extension Process {
    fileprivate func kill() {
      Glibc.kill(processIdentifier, SIGKILL)
      waitUntilExit()
    }
  }
#endif
