// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// refuseRemote fails if the SDK would fetch anything for the kustomization, or for one that it is based on.
func refuseRemote(fsys filesys.FileSystem, folder string) error {
	return Walk(fsys, folder, func(reference Reference) error {
		remote := isURL(reference.Text)
		if reference.Base && !remote {
			// The SDK prefers a file of that name to a repository, but a repository to a folder.
			remote = isRepository(reference.Text) && (!fsys.Exists(reference.Path) || fsys.IsDir(reference.Path))
		}
		if remote {
			return fmt.Errorf("%s refers to %q, which would have to be fetched from elsewhere; "+
				"only files that come with the kustomization are allowed, so refer to a copy", reference.Source, reference.Text)
		}
		return nil
	})
}

func isURL(text string) bool {
	parsed, err := url.Parse(text)
	return err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https")
}

// repository matches the references that the SDK passes to git, and some more: a URL, the short form for ssh, or a host that needs
// no scheme.
var repository = regexp.MustCompile(`(?i)^(git::)?((ssh|https?|file)://|[a-z][a-z0-9-]*@|github\.com[/:])`)

func isRepository(text string) bool {
	return repository.MatchString(strings.TrimSpace(text))
}
