import ArgumentParser
import KVClone
import KVCloneExplorer

#if Explorer
  import Dispatch
  import Synchronization
#endif

struct ExploreCommand: StoreCommand, WholeStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "explore", abstract: "Shows the store in a browser: serves pages until interrupted.",
    discussion: """
      Prints the URL, which contains a secret token; the browser exchanges it for a cookie. The store is opened \
      read-only unless --write is given. Needs a build with the trait Explorer: `swift build --traits Explorer`.
      """,
    examples: [
      "kvclone -s notes.kvclone explore --open",
      "kvclone -s notes.kvclone explore --port 0 --json",
      "kvclone -s notes.kvclone explore --write",
    ])

  @OptionGroup var global: GlobalOptions

  @Option(help: "The TCP port; 0 takes a free one.")
  var port: UInt16 = 8484

  @Option(help: "The IP address to listen on. Only loopback addresses are unreachable from other machines.")
  var address = "127.0.0.1"

  @Option(
    name: .customLong("host"),
    help: ArgumentHelp(
      "Also accept this name of the server in URLs, for a reverse proxy or a forwarded port. Repeatable.",
      valueName: "name[:port]"))
  var hosts: [String] = []

  @Option(
    help: ArgumentHelp(
      "Plan migrations to the versions of this model on the page Migration: \(ModelPath.forms).", valueName: "path"),
    completion: ModelPath.completion)
  var model: String?

  @Flag(help: "Allow changes: clone objects, roll back to snapshots, create snapshots.")
  var write = false

  @Flag(help: "Open the URL in the default browser (xdg-open).")
  var open = false

  var isReadOnly: Bool { !write }

  #if Explorer
    func prepare() throws {
      try ExploreAddress.check(address)
      for host in hosts { try ExploreAddress.checkName(host) }
      try StandardOutput.requireOpen()
    }

    func run(_ store: ObjectStore) throws {
      let address = try ExploreAddress(listeningOn: address, port: port)
      let token = ExploreToken.random()
      var options = ExplorerOptions()
      options.allowsWrites = write
      options.allowedHosts = address.hosts(hosts)
      if let model { options.modelVersions = try ManagedObjectModel.loadVersions(contentsOf: model).map(\.model) }
      options.token = token
      let launchCode = open ? LaunchCode(token: token) : nil
      let server = ExplorerServer(address.socket, Explorer(store, options: options), options, launchCode: launchCode)
      if !address.isLoopback {
        global.note(
          "kvclone: warning: \(address.host) is reachable from other machines, and HTTP is not encrypted: others can "
            + "read pages and the token; prefer a tunnel, such as ssh -L \(address.port):127.0.0.1:\(address.port)")
      }
      try global.show {
        $0.member("url", address.url(token: token))
        $0.member("address", address.host)
        $0.member("port", Int(address.port))
        $0.member("token", token)
        $0.member("writes", write)
      } text: {
        try $0.line(address.url(token: token))
      }
      if let launchCode, !Browser.open(address.url(token: launchCode.text)) {
        global.note("kvclone: warning: xdg-open is not installed or failed; open the URL in a browser")
      }
      try serve(server)
    }

    /// Serves until a signal arrives.
    private func serve(_ server: ExplorerServer) throws {
      let ended = DispatchSemaphore(value: 0)
      let failure = Mutex<(any Error)?>(nil)
      let task = Task {
        do { try await server.run() } catch { failure.withLock { $0 = error } }
        ended.signal()
      }
      try Interruption.cancelling({ task.cancel() }) {
        ended.wait()
        if let error = failure.withLock({ $0 }) { throw error }
      }
    }
  #else
    func prepare() throws {
      throw Failure(
        "unsupportedByBuild", "this build has no explorer; build kvclone with `swift build --traits Explorer`")
    }

    func run(_ store: ObjectStore) throws {}
  #endif
}
