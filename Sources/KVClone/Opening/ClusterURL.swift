import Foundation
package import KVCloneCore

/// The URL of a PostgreSQL database as libpq takes it, optionally with the name of a store behind the database:
/// `postgresql://USER@HOST:PORT,HOST/DATABASE/NAME?PARAMETERS`.
///
/// A URL may contain a password. Therefore no error contains a part of it, and everything that libpq's messages would
/// quote is rejected here.
package struct ClusterURL: Equatable, Sendable {
  private static let schemes = ["postgresql://", "postgres://"]

  /// The user and hosts, and the parameters with their question mark, as they were given.
  private let authority: String
  private let query: String
  /// The components of the path, without the slashes between them, as they were given.
  private let path: [String]

  /// Whether a text is the URL of a database, rather than a path.
  package static func isURL(_ text: String) -> Bool { scheme(of: text) != nil }

  private static func scheme(of text: String) -> String? {
    schemes.first { text.prefix($0.count).lowercased() == $0 }
  }

  /// Parses a URL.
  ///
  /// - Throws: `invalidDestination`.
  package init(_ text: String) throws(StoreError) {
    guard let scheme = Self.scheme(of: text) else {
      throw StoreError(.invalidDestination, "a cluster is given by a URL; write postgresql://USER@HOST/DATABASE")
    }
    let rest = text.dropFirst(scheme.count)
    // libpq ends the user at the first @ before any slash.
    var hosts = rest
    if let end = rest.firstIndex(where: { $0 == "@" || $0 == "/" }), rest[end] == "@" {
      hosts = rest[rest.index(after: end)...]
    }
    let hostsEnd = hosts.firstIndex { $0 == "/" || $0 == "?" } ?? hosts.endIndex
    let pathEnd = hosts[hostsEnd...].firstIndex(of: "?") ?? hosts.endIndex
    hosts = hosts[..<hostsEnd]
    let path = rest[hostsEnd..<pathEnd]
    query = String(rest[pathEnd...])
    authority = String(rest[..<hostsEnd])
    self.path = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard rest.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), Self.isPercentEncoded(rest), !hosts.contains("@"),
      !path.contains("@")
    else {
      throw StoreError(
        .invalidDestination,
        "the URL of the cluster has a character that is not percent-encoded; write @ as %40, / as %2F and % as "
          + "%25")
    }
    guard Self.arePortsValid(hosts) else {
      throw StoreError(
        .invalidDestination,
        "the URL of the cluster has a port that is not a number; in a password, write @ as %40 and / as %2F")
    }
    let parameters = query.dropFirst().split(separator: "&", omittingEmptySubsequences: false)
    guard query.count < 2 || parameters.allSatisfy({ $0.count { $0 == "=" } == 1 }) else {
      throw StoreError(
        .invalidDestination, "the URL of the cluster has a parameter that is not written NAME=VALUE; write = as %3D")
    }
  }

  /// Returns the URL of the database, and the decoded name of the store.
  ///
  /// - Throws: `invalidDestination` unless the path has both.
  package func storeParts() throws(StoreError) -> (database: String, name: String) {
    guard let database = path.first, !database.isEmpty, path.count > 1 else {
      throw StoreError(
        .invalidDestination, "the URL of the store names no database; write postgresql://USER@HOST/DATABASE/NAME")
    }
    guard path.count == 2 else {
      throw StoreError(
        .invalidDestination,
        "the URL of the store has more than a database and a name; write a / within the name as %2F")
    }
    guard let name = path[1].removingPercentEncoding, (1...255).contains(name.utf8.count) else {
      throw StoreError(
        .invalidDestination,
        "the URL of the store ends without a name of 1 to 255 bytes in UTF-8; write "
          + "postgresql://USER@HOST/DATABASE/NAME")
    }
    return (url(database: database), name)
  }

  /// Returns the URL of the database, without a store.
  ///
  /// - Throws: `invalidDestination` if it also has the name of a store, or no database.
  package func databaseURL() throws(StoreError) -> String {
    guard let database = path.first, !database.isEmpty else {
      throw StoreError(
        .invalidDestination, "the URL of the cluster names no database; write postgresql://USER@HOST/DATABASE")
    }
    guard path.count == 1 else {
      throw StoreError(
        .invalidDestination,
        "the URL of the cluster has more than a database; write postgresql://USER@HOST/DATABASE without a store")
    }
    return url(database: database)
  }

  private func url(database: String) -> String { "\(Self.schemes[0])\(authority)/\(database)\(query)" }

  /// Returns the URL of a database with a shorter wait for a connection, unless it has one of its own.
  package static func url(_ url: String, connectingWithin seconds: Int) -> String {
    if url.contains("connect_timeout=") { return url }
    return url + (url.contains("?") ? "&" : "?") + "connect_timeout=\(seconds)"
  }

  /// Whether each % precedes two hexadecimal digits that are not zero.
  private static func isPercentEncoded(_ text: Substring) -> Bool {
    let parts = text.split(separator: "%", omittingEmptySubsequences: false).dropFirst()
    return parts.allSatisfy { part in
      let digits = part.prefix(2)
      return digits.count == 2 && digits.allSatisfy { $0.isASCII && $0.isHexDigit } && digits != "00"
    }
  }

  private static func arePortsValid(_ hosts: Substring) -> Bool {
    hosts.split(separator: ",").allSatisfy { host in
      // The colons of an IPv6 address are in brackets.
      let end = host.firstIndex(of: "]") ?? host.startIndex
      guard let colon = host[end...].firstIndex(of: ":") else { return true }
      let port = host[host.index(after: colon)...]
      return port.isEmpty || UInt16(port) != nil
    }
  }
}
