// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/helm/remote"
)

func newRepoCommand(e *environment) *cobra.Command {
	command := &cobra.Command{
		Use:   "repo",
		Short: "Add, list, update and remove repositories of charts",
		Long: `Add, list, update and remove repositories of charts, so that REPO/CHART names a chart. clm and helm share the file repositories.yaml, whose path the environment
variable HELM_REPOSITORY_CONFIG may contain, and may run at the same time.`,
	}
	command.AddCommand(newRepoAddCommand(e), newRepoListCommand(e), newRepoUpdateCommand(e), newRepoRemoveCommand(e))
	return command
}

func newRepoAddCommand(e *environment) *cobra.Command {
	var (
		added              remote.Repository
		user               account
		plainHTTP, replace bool
	)
	command := newActionCommand(e, &cobra.Command{
		Use:   "add REPO URL",
		Short: "Add a repository of charts",
		Long: `Add a repository of charts, if its index can be fetched. User name and password are stored in repositories.yaml, which only its owner can read. If only one of them is
given, clm asks for the other one on the terminal.`,
		Example: "  clm repo add bitnami https://charts.bitnami.com/bitnami\n  clm repo add shop https://charts.example.com -u me --password-stdin < password",
	}, func(ctx context.Context, args []string) (string, error) {
		if user != (account{}) {
			if err := user.complete(ctx, e); err != nil {
				return "", err
			}
		}
		added.Name, added.URL, added.Username, added.Password = args[0], args[1], user.username, user.password
		for _, file := range []*string{&added.CAFile, &added.CertFile, &added.KeyFile} {
			if absolute, err := filepath.Abs(*file); err == nil && *file != "" {
				*file = absolute // clm and helm run in other folders, too
			}
		}
		if err := remote.AddRepository(ctx, added, plainHTTP, replace); err != nil {
			return "", fmt.Errorf("adding repository %s: %w", added.Name, err)
		}
		return "Added: " + added.Name, nil
	})
	user.addFlags(command)
	flags := command.Flags()
	addTransportFlags(flags, &added.CAFile, &plainHTTP)
	flags.Var(filePath(&added.CertFile), "cert-file", "`file` with a client certificate for the repository")
	flags.Var(filePath(&added.KeyFile), "key-file", "`file` with the private key of the client certificate")
	flags.BoolVar(&added.PassCredentialsAll, "pass-credentials-all", false, "send user name, password and client certificate also to other hosts that the index names")
	flags.BoolVar(&replace, "force-update", false, "replace a repository with the same name")
	command.MarkFlagsRequiredTogether("cert-file", "key-file")
	return command
}

func newRepoListCommand(e *environment) *cobra.Command {
	var printed output
	command := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the repositories of charts",
		Example: "  clm repo list -o json",
		RunE: func(*cobra.Command, []string) error {
			known, err := remote.Repositories()
			if err != nil {
				return err
			}
			if !printed.forPeople() {
				return printList(printed, e.out, known, repositoryResource)
			}
			if len(known) == 0 {
				fmt.Fprintln(e.err, "there are no repositories; to add one: clm repo add REPO URL")
				return nil
			}
			list := newTable(e.out, display.Column{Header: "NAME", Fit: display.End}, display.Column{Header: "URL", Fit: display.Middle})
			for _, repository := range known {
				list.AddTexts(repository.Name, shownURL(repository))
			}
			return list.Write(e.out)
		},
	}
	printed = newOutput(command)
	return command
}

// shownURL returns the URL of a repository without a password.
func shownURL(repository *remote.Repository) string {
	parsed, err := url.Parse(repository.URL)
	if err != nil {
		return "invalid"
	}
	return parsed.Redacted()
}

// repositoryResource returns the machine-readable form of a repository.
func repositoryResource(_ int, repository *remote.Repository) *unstructured.Unstructured {
	spec := map[string]any{"url": shownURL(repository)}
	addKnown(spec, map[string]any{"username": repository.Username})
	return resource("Repository", "", repository.Name, map[string]any{"spec": spec})
}

func newRepoUpdateCommand(e *environment) *cobra.Command {
	var plainHTTP bool
	command := newActionCommand(e, &cobra.Command{
		Use:     "update [REPO...]",
		Aliases: []string{"up"},
		Short:   "Fetch the indexes of repositories for helm",
		Long:    "Fetch the indexes of repositories, by default of all, into the cache of helm. clm itself does not use them: it fetches an index whenever it needs it.",
		Example: "  clm repo update bitnami",
	}, func(ctx context.Context, args []string) (string, error) {
		defer e.announce("fetching indexes")()
		var updated []string
		chosen, err := remote.Repositories(args...)
		for _, repository := range chosen {
			if failure := remote.UpdateIndex(ctx, repository, plainHTTP); failure != nil {
				err = errors.Join(err, failure)
				continue
			}
			updated = append(updated, "Updated: "+repository.Name)
		}
		return strings.Join(updated, "\n"), err
	})
	command.Flags().BoolVar(&plainHTTP, "plain-http", false, "allow repositories without encryption")
	return command
}

func newRepoRemoveCommand(e *environment) *cobra.Command {
	return newActionCommand(e, &cobra.Command{
		Use:     "remove REPO...",
		Aliases: []string{"rm"},
		Short:   "Remove repositories of charts",
		Long:    "Remove repositories of charts, also from the cache of helm. If one of them does not exist, none is removed.",
		Example: "  clm repo remove bitnami",
	}, func(ctx context.Context, args []string) (string, error) {
		if err := remote.RemoveRepositories(ctx, args); err != nil {
			return "", err
		}
		return "Removed: " + strings.Join(args, ", "), nil
	})
}

func newRegistryCommand(e *environment) *cobra.Command {
	command := &cobra.Command{
		Use:   "registry",
		Short: "Log in to registries of charts, and out of them",
		Long: `Log in to registries of charts, and out of them. clm and helm share the file registry/config.json, whose path the environment variable HELM_REGISTRY_CONFIG may
contain. clm also uses the credentials that Docker has stored.`,
	}
	command.AddCommand(newLoginCommand(e), newActionCommand(e, &cobra.Command{
		Use:     "logout HOST",
		Short:   "Log out of a registry",
		Long:    "Remove the user name and the password that clm registry login or helm registry login has stored.",
		Example: "  clm registry logout registry.example.com",
	}, func(ctx context.Context, args []string) (string, error) { return remote.Logout(ctx, args[0]) }))
	return command
}

func newLoginCommand(e *environment) *cobra.Command {
	var (
		user    account
		options remote.Options
	)
	command := newActionCommand(e, &cobra.Command{
		Use:   "login HOST",
		Short: "Log in to a registry",
		Long: `Check a user name and a password, or a token, for the registry HOST or HOST:PORT, and store them for clm and helm: with the credential helper of Docker if there is one,
otherwise in a file that only its owner can read. clm asks on the terminal for what is not given.`,
		Example: "  clm registry login registry.example.com -u me --password-stdin < token",
	}, func(ctx context.Context, args []string) (string, error) {
		if err := user.complete(ctx, e); err != nil {
			return "", err
		}
		options.Username, options.Password = user.username, user.password
		return remote.Login(ctx, args[0], options)
	})
	user.addFlags(command)
	addTransportFlags(command.Flags(), &options.CAFile, &options.PlainHTTP)
	return command
}

// account is a user name with its password.
type account struct {
	username, password string
	// fromStdin means that the password is in standard input.
	fromStdin bool
}

func (a *account) addFlags(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVarP(&a.username, "username", "u", "", "`name` of the user")
	flags.StringVarP(&a.password, "password", "p", "", "`password` of the user; others on this machine may see it")
	flags.BoolVar(&a.fromStdin, "password-stdin", false, "read the password from standard input")
	command.MarkFlagsMutuallyExclusive("password", "password-stdin")
}

// complete reads the password from standard input, and asks for what is missing.
func (a *account) complete(ctx context.Context, e *environment) error {
	if a.username == "" {
		name, err := e.ask(ctx, "User name:", false)
		if err != nil {
			return fmt.Errorf("flag --username is missing: %w", err)
		}
		a.username = string(name)
	}
	read := func() ([]byte, error) { return e.ask(ctx, "Password:", true) }
	if a.fromStdin {
		read = func() ([]byte, error) { return io.ReadAll(e.in) }
	}
	if a.password == "" {
		text, err := read()
		if err != nil {
			return fmt.Errorf("flag --password-stdin is missing: %w", err)
		}
		a.password = strings.TrimRight(string(text), "\r\n")
	}
	return nil
}

// ask asks on the terminal. A hidden answer is not shown there.
func (e *environment) ask(ctx context.Context, question string, hidden bool) ([]byte, error) {
	dialog, err := e.openDialog()
	if err != nil {
		return nil, err
	}
	defer func() { _ = dialog.Close() }()
	ask := dialog.Ask
	if hidden {
		ask = dialog.AskHidden
	}
	answer, err := ask(ctx, question)
	return []byte(answer), err
}
