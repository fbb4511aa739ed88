// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"net/url"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// isRemote reports whether the SDK would fetch the target of a reference.
func isRemote(fsys filesys.FileSystem, reference Reference) bool {
	if isURL(reference.Text) {
		return true
	}
	// The SDK prefers a file of that name to a repository, but a repository to a folder.
	isRepository := repository.MatchString(strings.TrimSpace(reference.Text))
	return reference.Base && isRepository && (!fsys.Exists(reference.Path) || fsys.IsDir(reference.Path))
}

func isURL(text string) bool {
	parsed, err := url.Parse(text)
	return err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https")
}

// repository matches the references that the SDK passes to git, and some more: a URL, the short form for ssh, or a host
// that needs no scheme.
var repository = regexp.MustCompile(`(?i)^(git::)?((ssh|https?|file)://|[a-z][a-z0-9-]*@|github\.com[/:])`)
