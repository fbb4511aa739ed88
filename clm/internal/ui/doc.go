// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package ui serves pages about releases and components to a browser on the same machine: clm ui.
//
// The server renders HTML from the results of packages views and operation, which the commands use, too. While a page is
// open, a stream of server-sent events replaces its content whenever that changes. All open pages about one target share a
// [feed], which follows the target and ends after the last page.
//
// [gatekeeper] decides which requests are answered at all. Changes are plans: [plans] keeps a plan while the user looks at
// it; exactly this plan is applied, or nothing.
package ui
