// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// gitPrefix is the prefix of references to Git repositories.
	gitPrefix  = "git::"
	schemeSSH  = "ssh"
	schemeFile = "file"
	// maxReason is how much of what git says last is part of an error, in bytes.
	maxReason = 2000
	// rawFiles are attributes that take precedence over those in the repository: its files are used as they are stored.
	rawFiles = "* -filter -text -eol -ident -working-tree-encoding -export-ignore -export-subst\n"
)

var (
	// gitQuery matches a query with a branch, a tag or a commit, or none. To git, other texts would be options, patterns
	// or several refs.
	gitQuery = regexp.MustCompile(`^(?:ref=([^-+@~^:?*&\[\\\s[:cntrl:]][^~^:?*&\[\\\s[:cntrl:]]*))?$`)
	// hookVariables matches variables that git sets for hooks, which may run this program.
	hookVariables = regexp.MustCompile(`^GIT_(DIR|COMMON_DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|NAMESPACE)=`)
)

// withRef moves the ref and the folder from the URL of a Git repository to their own fields.
func (r Reference) withRef() (Reference, error) {
	query, err := url.PathUnescape(r.url.RawQuery)
	found := gitQuery.FindStringSubmatch(query)
	path, folder, ok := withoutFolder(r.url.Path)
	hasForm := err == nil && found != nil && ok && strings.Trim(path, "/") != "" && r.url.Fragment == ""
	if !hasForm || !slices.Contains([]string{schemeHTTPS, schemeHTTP, schemeSSH, schemeFile}, r.url.Scheme) {
		return Reference{}, errors.New("must be git::URL//DIRECTORY?ref=REF, where URL begins with https, ssh or file, and REF is a branch, a tag or a full commit")
	}
	r.gitRef, r.folder = cmp.Or(found[1], "HEAD"), folder
	r.url.Path, r.url.RawPath, r.url.RawQuery = path, "", ""
	return r, nil
}

// clone fetches one commit of a Git repository without its history, and unpacks its files. It returns the commit.
func (r Reference) clone(ctx context.Context, options Options) (commit string, err error) {
	if options.Username != "" || options.Password != "" {
		return "", errors.New("--username and --password are not for Git; store them where git finds them, for example in a credential helper")
	}
	if r.url.Scheme == schemeHTTP && !options.PlainHTTP {
		return "", fmt.Errorf("http://%s is not encrypted; --plain-http allows that", r.url.Host)
	}
	err = unpack(options.Unpack, func(files *unpacker) error {
		folder := filepath.Join(options.Unpack, ".git")
		defer func() { _ = os.RemoveAll(folder) }()
		info, archive := filepath.Join(folder, "info"), filepath.Join(folder, "archive")
		err := errors.Join(os.MkdirAll(info, 0o700), os.WriteFile(filepath.Join(info, "attributes"), []byte(rawFiles), 0o600))
		for _, arguments := range [][]string{
			{"init", "--quiet", "--bare", "--template="},
			{"fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", r.url.String(), r.gitRef},
			// With --worktree-attributes, git does not read the whole tree into memory before it begins.
			{"archive", "--format=tar", "--worktree-attributes", "--output=" + archive, "FETCH_HEAD^{commit}"},
		} {
			if err == nil {
				err = r.git(ctx, folder, options, arguments)
			}
		}
		if err != nil {
			return err
		}
		content, err := os.Open(archive)
		if err != nil {
			return err
		}
		defer content.Close()
		_ = os.RemoveAll(folder) // or a file of the repository with that path would replace the archive
		err = files.tar(ctx, content)
		commit = files.comment
		return err
	})
	return commit, err
}

// git runs git for a repository without a working tree. It ends with the context. The configuration of the user
// applies, because it may have proxies and credentials. But neither that nor the repository makes git run hooks or
// filters, fetch submodules, or ask questions.
func (r Reference) git(ctx context.Context, folder string, options Options, arguments []string) error {
	always := []string{
		"--git-dir=" + folder, "-c", "core.hooksPath=" + os.DevNull, "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "fetch.unpackLimit=1",
		"-c", "http.lowSpeedLimit=1", "-c", fmt.Sprintf("http.lowSpeedTime=%.0f", maxSilence.Seconds()),
	}
	command := exec.CommandContext(ctx, "git", slices.Concat(always, arguments)...)
	command.Dir, command.WaitDelay = folder, 5*time.Second // for processes of a killed git that keep its output open
	command.Env = append(slices.DeleteFunc(os.Environ(), hookVariables.MatchString), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0",
		"GIT_ALLOW_PROTOCOL=https:ssh:"+r.url.Scheme) // the configuration of the user may replace the URL by one with https or ssh
	if file, err := filepath.Abs(options.CAFile); options.CAFile != "" && err == nil {
		command.Env = append(command.Env, "GIT_SSL_CAINFO="+file) // the setting http.sslCAInfo would not override this variable
	}
	confine(command)
	_, err := command.Output() // which keeps the beginning and the end of standard error
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // git was successful, but has left a process
	}
	var failed *exec.ExitError
	if ctx.Err() != nil || !errors.As(err, &failed) {
		return cmp.Or(context.Cause(ctx), err)
	}
	said := strings.Join(strings.Fields(string(failed.Stderr)), " ")
	switch said = said[max(0, len(said)-maxReason):]; {
	case strings.Contains(said, "couldn't find remote ref"):
		return fmt.Errorf("there is no branch or tag %s in it; a commit must be given with all of its digits, usually 40", r.gitRef)
	case strings.Contains(said, "File too large"):
		return fmt.Errorf("without its history, it is larger than %d MiB: git %s: %w: %s", maxUnpacked>>20, arguments[0], err, said)
	default:
		return fmt.Errorf("git %s: %w: %s", arguments[0], err, said)
	}
}
