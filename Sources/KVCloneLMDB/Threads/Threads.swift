import Glibc

/// The threads of this process.
enum Threads {
  /// A number that no other live thread of this process has.
  static var currentID: UInt { UInt(pthread_self()) }
}
