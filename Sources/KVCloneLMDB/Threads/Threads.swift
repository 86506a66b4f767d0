import Glibc

/// The threads of this process.
enum Threads {
  /// A number that is unique among the live threads of this process.
  static var currentID: UInt { UInt(pthread_self()) }
}
