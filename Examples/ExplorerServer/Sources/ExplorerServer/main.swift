// A service that mounts the explorer at `/explorer`, behind its own authentication.
//
//     EXPLORER_PASSWORD=secret swift run --package-path Examples/ExplorerServer ExplorerServer notes.kvclone
//
// Open http://127.0.0.1:8080/explorer and give any user name.

import Foundation
import Hummingbird
import KVClone
import KVCloneExplorer

guard CommandLine.arguments.count == 2, let password = ProcessInfo.processInfo.environment["EXPLORER_PASSWORD"],
  !password.isEmpty
else {
  print("usage: EXPLORER_PASSWORD=… ExplorerServer STORE")
  exit(64)
}
var storeOptions = StoreOptions()
storeOptions.isReadOnly = true
let store = try ObjectStore.open(at: CommandLine.arguments[1], options: storeOptions)
defer { store.close() }

var options = ExplorerOptions()
options.basePath = "/explorer"
// The names under which the service is reached. Without the list, a page of another site could use its own name.
options.allowedHosts = ["127.0.0.1:8080", "localhost:8080"]

let router = Router()
router.get("/") { _, _ in "The service. Its explorer is at /explorer.\n" }
router.group("explorer")
  .add(middleware: PasswordMiddleware(password: password))
  .addExplorer(Explorer(store, options: options), maximumBodySize: options.maximumBodySize)
try await Application(router: router, configuration: .init(address: .hostname("127.0.0.1", port: 8080))).runService()
