// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/repo"
)

// UnknownRepositoryError says that no repository has a name.
type UnknownRepositoryError struct {
	Name string
	// Known are the names of the repositories that there are.
	Known []string
}

func (e *UnknownRepositoryError) Error() string {
	known := "Helm has no repositories"
	if len(e.Known) > 0 {
		known = "Helm has the repositories " + strings.Join(e.Known, ", ")
	}
	return fmt.Sprintf("there is no repository %s; %s; to add it: helm repo add %s URL", e.Name, known, e.Name)
}

// Repositories returns the repositories in a file that "helm repo add" has written; none if it does not exist.
func Repositories(file string) ([]*repo.Entry, error) {
	content, err := repo.LoadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the repositories of Helm in %s: %w", file, err)
	}
	return slices.DeleteFunc(content.Repositories, func(entry *repo.Entry) bool { return entry == nil }), nil
}

// Names returns the names of repositories, sorted.
func Names(repositories []*repo.Entry) []string {
	var names []string
	for _, entry := range repositories {
		names = append(names, entry.Name)
	}
	slices.Sort(names)
	return names
}

// named matches REPO/CHART, which :VERSION may follow. A path that begins with a dot is none.
var named = regexp.MustCompile(`^([^./:@\s][^/:@\s]*)/([^./:@\s][^/:@\s]*)(?::([^/:@\s]+))?$`)

// IsNamed reports whether a text has the form REPO/CHART, or REPO/CHART:VERSION. Such a text may also be a path.
func IsNamed(text string) bool { return named.MatchString(text) }

// ParseNamed reads a reference in the form REPO/CHART, and takes the URL and the credentials of the repository from
// Helm's repositories.yaml. If there is no such repository, the error is an UnknownRepositoryError.
func ParseNamed(text string) (Reference, error) {
	parts := named.FindStringSubmatch(text)
	if parts == nil {
		return Reference{}, errors.New("must be REPO/CHART, optionally followed by :VERSION")
	}
	known, err := Repositories(cli.New().RepositoryConfig)
	if err != nil {
		return Reference{}, err
	}
	i := slices.IndexFunc(known, func(entry *repo.Entry) bool { return entry.Name == parts[1] })
	if i < 0 {
		return Reference{}, &UnknownRepositoryError{Name: parts[1], Known: Names(known)}
	}
	parsed, err := url.Parse(known[i].URL)
	if err != nil {
		// The URL may contain a password.
		return Reference{}, fmt.Errorf("repository %s has an invalid URL; must be https://HOST/PATH", parts[1])
	}
	if parsed.User != nil {
		return Reference{}, fmt.Errorf("the URL of repository %s contains a user name; to set user name and password: helm repo add --username --password", parts[1])
	}
	if parsed.Host == "" || parsed.Scheme != schemeHTTP && parsed.Scheme != schemeHTTPS {
		return Reference{}, fmt.Errorf("repository %s has the URL %q; must be https://HOST/PATH", parts[1], known[i].URL)
	}
	return Reference{url: parsed, chart: parts[2], version: parts[3], repository: known[i]}, nil
}

// withRepository completes options by what is known of a named repository. What was given explicitly wins.
func (o Options) withRepository(entry *repo.Entry) Options {
	if entry == nil {
		return o
	}
	if o.Username == "" && o.Password == "" {
		o.Username, o.Password = entry.Username, entry.Password
		o.passCredentials = entry.PassCredentialsAll
	}
	if o.CAFile == "" {
		o.CAFile = entry.CAFile
	}
	o.certFile, o.keyFile = entry.CertFile, entry.KeyFile
	o.insecure = entry.InsecureSkipTLSverify
	return o
}
