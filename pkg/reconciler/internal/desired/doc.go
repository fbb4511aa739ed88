// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package desired turns the objects of a request into desired objects: normalised manifests with their digest, policies and stage. It asks the
// cluster only which types are served.
package desired
