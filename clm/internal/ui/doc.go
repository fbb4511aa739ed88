// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package ui serves pages about releases and components to a browser on the same machine: clm ui.
//
// A page is HTML that the server renders from what package views and package operation return; nothing is computed here
// that a command computes, too. While a page is open, a stream of server-sent events replaces its content whenever that
// changes. All open pages about one target share a [feed], which follows the target and ends after the last page.
//
// [door] decides which requests are answered at all. Changes are plans: [plans] keeps a plan while the user looks at it,
// and carries out exactly this plan, or nothing.
package ui
