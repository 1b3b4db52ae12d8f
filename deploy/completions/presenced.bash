# bash completion for presenced

_presenced() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "serve check token config version --help" -- "$word")
        return
    fi
    case $before in
        --config | --secret)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        --set)
            # The binary knows its keys.
            compopt -o nospace 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" config 2>/dev/null | sed -n 's/ = .*/=/p')" -- "$word")
            return
            ;;
        --user | --ttl) return ;;
    esac
    local options=--help
    case $command in
        serve) options+=" --config --set --dev --demo" ;;
        check) options+=" --config --set --dev" ;;
        token) options+=" --user --ttl --secret" ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
}
complete -F _presenced presenced
