import Foundation
import Testing

@testable import KVCloneLMDB

/// LMDB does not detect a fork; the environment must.
@Suite(.serialized) struct ForkTests {
  @Test func aForkedChildIsRefused() throws {
    let store = try TemporaryStore()
    let environment = try store.create()
    // Swift hides fork, with reason: the child may do hardly anything. It checks one flag and exits.
    let symbol = try #require(dlsym(nil, "fork"))
    let fork = unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)
    #expect(!environment.isForked)
    let child = fork()
    if child == 0 { _exit(environment.isForked ? 7 : 8) }
    try #require(child > 0)
    var status: Int32 = 0
    #expect(waitpid(child, &status, 0) == child)
    #expect(status >> 8 & 0xFF == 7)
    #expect(!environment.isForked)
    _ = try environment.beginWrite()
  }
}
