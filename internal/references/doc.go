// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package references reads Secrets and ConfigMaps that components refer to, and notices when they change.
//
// For each namespace in use and each of the two kinds there is one watch, of metadata only: no Secret is transferred
// unless a component refers to it. Content is read on demand, and again only after the watch has reported another
// resource version. Without the permission to watch, content is read each time.
package references
