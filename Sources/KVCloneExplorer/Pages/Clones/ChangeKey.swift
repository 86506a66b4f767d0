import Foundation

/// Idempotency keys of forms: a page that is sent twice changes the store once.
enum ChangeKey {
  static let maximumLength = 255

  static func make(_ purpose: String) -> String { "explorer-\(purpose)-\(UUID().uuidString)" }
}
