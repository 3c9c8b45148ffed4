"""Function words of some languages: articles, pronouns, prepositions, conjunctions, auxiliary verbs.

The lists are short on purpose. They hold only words that say nothing about the topic of a text, in lower case and with
their accents; weights such as idf take care of other frequent words.
"""

from __future__ import annotations

from functools import cache

from linnaeus.errors import ParameterError, nearest

__all__ = ["STOP_WORDS", "stop_words_of"]

STOP_WORDS = {
    "da": """
        ad af alle alt at blev blive bliver da de dem den denne der deres det dette dig din disse dog du efter eller en
        end er et for fra ham han hans har havde have hende hendes her hos hun hvad hvem hver hvilken hvis hvor hvordan
        hvornår i ikke ind ingen jeg jer jeres jo kan kunne man mange med meget men mig min mine mit mod ned noget nogen
        nogle nu når og også om op os over på selv sig sin sine sit skal skulle som sådan til ud under var ved vi vil
        ville vor være været""",
    "de": """
        aber alle allem allen aller alles als also am an andere anderen anderer anderes auch auf aus bei beim bin bis
        bist da damit dann das dass dein deine dem den denn der des dessen die dies diese diesem diesen dieser dieses
        doch dort du durch ein eine einem einen einer eines er es etwas euch euer für gegen hab habe haben hat hatte
        hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im in ins ist ja jede jedem jeden
        jeder jedes jene jener kann kein keine keinem keinen keiner können könnte man manche mein meine mich mir mit
        muss musste nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem seinen seiner seines seit sich
        sie sind so solche soll sollte sondern sonst über um und uns unser unsere unter vom von vor war waren warst was
        weil welche welchem welchen welcher welches wenn wer werde werden wie wieder will wir wird wirst wo wurde wurden
        während würde würden zu zum zur zwar zwischen""",
    "en": """
        a about above after again against all am an and any are as at be because been before being below between both
        but by can cannot could did do does doing don down during each few for from further had has have having he her
        here hers herself him himself his how i if in into is it its itself just ll may me might more most must my
        myself no nor not of off on once only or other our ours ourselves out over own re same shall she should so some
        such than that the their theirs them themselves then there these they this those through to too under until up
        upon us ve very was we were what when where which while who whom why will with within without would you your
        yours yourself yourselves""",
    "es": """
        a al algo algunas algunos ante antes aquel aquella aquellas aquellos aunque cada como con contra cual cuando de
        del desde donde dos durante e el ella ellas ellos en entre era eran es esa esas ese eso esos esta estaba están
        estar estas este esto estos está fue fueron ha habían había han has hasta hay he la las le les lo los me mi mis
        mucho muchos muy más mí ni no nos nosotros o os otra otras otro otros para pero poco por porque que quien
        quienes qué se sea según ser si sido sin sobre son su sus sí también tan tanto te tiene tienen todo todos tu tus
        un una uno unos y ya yo él""",
    "fi": """
        ei eivät ehkä en ennen eli emme et ette että he heidän heille heitä hän häneen häneltä hänelle hänen hänet
        häntä ilman itse ja jo joita joka jokin joko jolla jolle jolloin jonka jos joskus jossa josta jota jotka jotta
        joten kaikki kanssa kautta keitä ken kenen koko koska kuin kuinka kuka kun kuten luona me meidän meille meitä
        mihin mikä mikään mille millä minkä minulla minulle minun minut minua minä missä mistä mitkä mitä mukaan mutta
        muut myös ne niiden niille niin niissä niistä niitä noin nuo nyt näiden näissä näistä näitä nämä ole olemme
        olen olet olette oli olisi olisivat olit olivat olla olleet ollut on ovat poikki sekä se sen siellä siihen siinä
        siitä sille sillä sinua sinulle sinun sinä sitä tai te teidän teille teitä tähän tälle tällä tämä tämän tässä
        tästä tätä tuo tuon vaan vaikka vain vai vastaan voi voivat yli""",
    "fr": """
        a afin ai alors après as au aucun aucune aussi autre autres aux avaient avait avant avec avez avoir avons c ce
        ceci cela celle celles celui ces cet cette ceux chaque chez ci comme comment d dans de depuis des donc dont du
        elle elles en encore entre es est et étaient était étant été être eu eux fait font furent fut il ils j je jusqu
        jusque l la laquelle le lequel les lesquels leur leurs lors lorsque lui m ma mais me même mêmes mes moi moins
        mon n ne ni nos notre nous on ont ou où par parce pas peu peut peuvent plus plusieurs pour pourquoi puis qu
        quand que quel quelle quelles quels qui quoi s sa sans se selon sera sera ses si soit son sont sous sur t ta
        tandis te tes toi ton tous tout toute toutes très tu un une vers voici vos votre vous y à""",
    "it": """
        a abbia abbiamo ad agli ai al alla alle allo anche ancora avere aveva avevano c che chi ci cioè coi col come con
        contro cosa così cui d da dagli dai dal dalla dalle dallo degli dei del dell della delle dello dentro di dopo
        dove due e ed era erano essere fa fino fra fu furono gli già ha hai hanno ho i il in io l la le lei li lo loro
        lui ma me mentre mi mia mie miei mio molto ne né negli nei nel nell nella nelle nello no noi non nostra nostro o
        od ogni oppure per perché però più poi può qua qual quale quali quando quanto quella quelle quelli quello
        questa queste questi questo qui se sei sempre senza si sia siamo siano sono sopra sotto sta stata state stati
        stato su sua sue sugli sui sul sulla sulle sullo suo suoi tra tu tua tuo tutta tutte tutti tutto un una uno
        vi voi è""",
    "nl": """
        aan al alle alles als altijd andere ben bij binnen daar dan dat de deze der deze die dit doch doen door dus een
        eens en er ge geen geweest haar had hadden heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je
        jij jou jouw jullie kan kon konden kunnen maar me meer men met mij mijn moet moeten na naar niet niets nog nu of
        om omdat ons onze ook op over reeds te tegen toch toen tot tussen u uit uw van vanaf veel via voor waar waarom
        want waren was wat we wel werd werden wie wij wil worden wordt zal ze zelf zich zij zijn zo zonder zou zouden
        zulke""",
    "no": """
        alle at av bare begge ble blei bli blir blitt både da de deg dei deim deira dem den denne der dere deres det
        dette di din disse ditt du dykk då eg ein eit eller elles en enn er et ett etter for fordi fra frå før ha hadde
        han hans har hennes her hjå ho hos hun hva hvem hver hvilke hvilken hvis hvor hvordan hvorfor i ikke ikkje inn
        inni ja jeg kan kom korleis kunne kva kven kvifor man mange med meg mellom men mi min mine mitt mot mykje må nå
        når ned no noe noen og også om opp oss over på samme seg selv si sia sidan siden sin sine sitt skal skulle slik
        so som somme så til um under upp ut uten var vart varte ved vere vi vil ville vore vors vår være vært å""",
    "pt": """
        a ao aos aquela aquelas aquele aqueles aquilo as até cada com como contra da das de dela delas dele deles depois
        desde do dos e ela elas ele eles em entre era eram essa essas esse esses esta estas estava este estes está estão
        eu foi foram ha há isso isto já lhe lhes lo mais mas me mesmo meu meus minha minhas muito muitos na nas nem no
        nos nossa nossas nosso nossos num numa não nós o onde os ou para pela pelas pelo pelos por porque qual quando
        que quem se seja sem ser será seu seus sido sob sobre sua suas são só também te tem tendo ter teu tinha todo
        todos tu tua têm um uma umas uns você vocês à às é""",
    "sv": """
        alla allt att av blev bli blir blivit de dem den denna deras dess dessa det detta dig din dina ditt du där då
        efter ej eller en er era ett från för genom ha hade han hans har henne hennes hon honom hos hur här i icke in
        ingen inget inom inte jag ju kan kunde man med medan mellan men mig min mina mitt mot mycket ni nu när någon
        något några och också om oss på samma sedan sig sin sina sitt sjelv själv skall ska skulle som så sådan till
        under upp ut utan vad var vara varför varit varje vars vart vem vi vid vilka vilken vilket vill ville vår våra
        vårt än är åt över""",
}


@cache
def stop_words_of(language: str) -> frozenset[str]:
    """The stop words of a language.

    Parameters
    ----------
    language : str
        Code of the language, one of the keys of `STOP_WORDS`.

    Returns
    -------
    frozenset of str
        Words in lower case.

    Examples
    --------
    >>> "und" in stop_words_of("de"), "Hund" in stop_words_of("de")
    (True, False)
    """
    if language not in STOP_WORDS:
        raise ParameterError(
            f"There are no stop words of the language {language!r}, only of {', '.join(STOP_WORDS)}; give the words "
            f"themselves instead{nearest(language, STOP_WORDS)}"
        )
    return frozenset(STOP_WORDS[language].split())
